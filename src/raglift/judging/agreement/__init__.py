"""How far a model's labels agree with people's: pair by pair, and in the order of systems that follows from them."""

from raglift.judging.agreement.kappa import Coefficient
from raglift.judging.agreement.pairs import agreement, agreement_of, labels_by_people
from raglift.judging.agreement.records import Agreement, SystemAgreement
from raglift.judging.agreement.systems import system_agreement

__all__ = [
    "Agreement",
    "Coefficient",
    "SystemAgreement",
    "agreement",
    "agreement_of",
    "labels_by_people",
    "system_agreement",
]
