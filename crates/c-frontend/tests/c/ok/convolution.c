// A filter over an image, with a border.
#include <phineus.h>
PH_SIZE(H, 8)
PH_SIZE(W, 9)
PH_MAIN void filter(PH_IN(a) const uint8_t image[H][W], PH_IN(b) const int8_t kernel[3][3],
                    PH_OUT(b) int32_t out[H][W])
{
    for (int r = 0; r < H; r++)
        for (int c = 0; c < W; c++) {
            int32_t sum = 0;
            for (int i = -1; i <= 1; i++)
                for (int j = -1; j <= 1; j++)
                    if (r + i >= 0 && r + i < H && c + j >= 0 && c + j < W)
                        sum += image[r + i][c + j] * kernel[i + 1][j + 1];
            out[r][c] = sum < 0 ? 0 : sum;
        }
}
