//! The regions that enclose the running code.

use crate::data::CellValue;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::dry_run::DryRun;
use crate::evaluate::report::ExecutionStop;
use crate::ir::Binary;

/// The secret branches, lanes and dry run that the running code is inside of.
pub(crate) struct EnclosingRegions {
    /// Iterations that run together; 1 is one after the other.
    pub(crate) lanes: u32,
    /// Secret branches that are being run.
    pub(crate) secret_branches: u32,
    /// When the arms are taken that are being run, the innermost last.
    pub(crate) arms: Vec<ArmCondition>,
    /// Strips of lanes that are being run.
    pub(crate) strips: u32,
    pub(crate) dry_run: Option<DryRun>,
}

impl Default for EnclosingRegions {
    fn default() -> EnclosingRegions {
        EnclosingRegions {
            lanes: 1,
            secret_branches: 0,
            arms: Vec::new(),
            strips: 0,
            dry_run: None,
        }
    }
}

impl EnclosingRegions {
    /// Whether control flow may depend on what is opened here: not where a secret decides whether
    /// this runs at all, nor for one of several iterations that run together.
    pub(crate) fn is_unconditional(&self) -> bool {
        self.secret_branches == 0 && self.strips == 0 && self.dry_run.is_none()
    }
}

/// When an arm is taken, if the branch is reached.
#[derive(Clone)]
pub(crate) struct ArmCondition {
    /// One of these holds, or with `is_negated` none of them.
    pub(crate) any: Vec<CellValue>,
    pub(crate) is_negated: bool,
    /// Whether the branch is reached as well, once that was computed.
    whole: Option<CellValue>,
}

impl ArmCondition {
    /// Where one condition holds.
    pub(crate) fn holds(condition: CellValue) -> ArmCondition {
        ArmCondition { any: vec![condition], is_negated: false, whole: None }
    }

    /// Where none of these holds.
    pub(crate) fn none_of(conditions: Vec<CellValue>) -> ArmCondition {
        ArmCondition { any: conditions, is_negated: true, whole: None }
    }

    /// Whether this condition surely holds where the arm is taken.
    pub(crate) fn implies(&self, condition: &CellValue) -> bool {
        !self.is_negated && matches!(&self.any[..], [one] if one.is_same(condition))
    }

    /// Whether this condition surely does not hold where the arm is taken.
    pub(crate) fn excludes(&self, condition: &CellValue) -> bool {
        self.is_negated && self.any.iter().any(|one| one.is_same(condition))
    }
}

impl OperationEvaluator {
    /// Whether all arms are taken that are being run.
    pub(crate) fn path_condition(&mut self) -> Result<CellValue, ExecutionStop> {
        let mut whole = CellValue::bit(true);
        for at in 0..self.scope.arms.len() {
            let arm = &self.scope.arms[at];
            if let Some(known) = &arm.whole {
                whole = known.clone();
                continue;
            }
            let (any, is_negated) = (arm.any.clone(), arm.is_negated);
            let mut own = CellValue::bit(false);
            for condition in any {
                own = self.binary(Binary::Or, 1, &own, &condition)?;
            }
            if is_negated {
                own = self.binary(Binary::Xor, 1, &own, &CellValue::bit(true))?;
            }
            whole = self.binary(Binary::And, 1, &whole, &own)?;
            self.scope.arms[at].whole = Some(whole.clone());
        }
        Ok(whole)
    }
}
