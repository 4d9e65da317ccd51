//! All streams of a connection are greeted at once.

use super::*;
use crate::mesh::connect_mesh;
use crate::tests::{TestTransport, local_cluster, securities, settings};

const STREAMS: u16 = 3;

/// A listener that answers no hello before all have come: a dialler that says them one after another
/// gets none.
#[test]
fn no_stream_waits_for_the_answer_in_another() {
    let cluster = local_cluster().with_transport(TestTransport::Quic.transport());
    let [security_a, security_b] = securities(TestTransport::Quic, &cluster);
    let mut settings_a = settings(&cluster, "site_a", &security_a);
    settings_a.streams = STREAMS;
    let setup = MeshSetup::new(&settings_a, 0).expect("the system has randomness");
    let (endpoint, _) = Endpoint::start(&setup).expect("the port was free");
    thread::scope(|scope| {
        let dialling = scope.spawn(|| {
            let mut settings_b = settings(&cluster, "site_b", &security_b);
            settings_b.streams = STREAMS;
            connect_mesh(&settings_b, &mut |_| ())
        });
        let handle = &endpoint.mover.handle;
        let patience = Duration::from_secs(10);
        let (connection, streams) = handle.block_on(async {
            let incoming = endpoint.endpoint.accept().await.expect("somebody dials");
            let connection = incoming.await.expect("a key that is trusted");
            let mut streams = Vec::new();
            // A stream is noticed when its hello comes.
            while let Ok(stream) = timeout(patience, connection.accept_bi()).await {
                streams.push(stream.expect("the connection lives"));
                if streams.len() == usize::from(STREAMS) {
                    break;
                }
            }
            (connection, streams)
        });
        assert_eq!(streams.len(), usize::from(STREAMS), "hellos before any answer");
        let presented = presented_key(&connection).expect("it has shown its key");
        let greeted = streams.into_iter().map(|halves| {
            let made = connected(&endpoint.mover, &connection, halves, presented);
            greet(&setup, made, None).ok().expect("a welcome peer").1
        });
        let greeted: Vec<_> = greeted.collect();
        let mesh = dialling.join().expect("it does not panic").expect("all streams are there");
        let closing = scope.spawn(move || {
            mesh.into_iter().flatten().flatten().try_for_each(crate::FramedChannel::close)
        });
        let mut in_order = greeted;
        in_order.sort_by_key(crate::FramedChannel::stream);
        in_order.into_iter().try_for_each(crate::FramedChannel::close).expect("a clean end");
        closing.join().expect("it does not panic").expect("a clean end");
    });
}
