"""The events of inferences, the same in Python and in generated C."""

from kibi.eager.events import declare_error, declare_event

InferenceStarted = declare_event("InferenceStarted", "an inference on stored or external inputs begins")
InferenceEnded = declare_event("InferenceEnded", "its outputs can be read")
InferenceMixed = declare_event(
    "InferenceMixed", "an inference has ended that read weights before and after they were written"
)
MoreInputNeeded = declare_event("MoreInputNeeded", "an operator ended an inference early: it waits for further ones")
RowReceived = declare_event("RowReceived", "a row of an input that streams has been copied")
EmbeddedPlanUsed = declare_event("EmbeddedPlanUsed", "an interpreter follows the plan that the model file carries")
EmbeddedPlanLeft = declare_event(
    "EmbeddedPlanLeft",
    "the model file carries a plan that an interpreter does not follow, for the reason that is given",
)
CheckpointWritten = declare_event("CheckpointWritten", "a slot holds all that the inference needs to go on from here")
CheckpointRead = declare_event("CheckpointRead", "an inference can go on from the newest checkpoint")
ModelInstalled = declare_event(
    "ModelInstalled", "an update is complete: the new model is opened from the next start on"
)
ModelConfirmed = declare_event("ModelConfirmed", "the application says that the active model works")
UpdateRolledBack = declare_event(
    "UpdateRolledBack", "the other slot's model is active: the newer one failed, or is damaged"
)

NullPointer = declare_error("NullPointer", "a pointer is null")
ArenaTooSmall = declare_error("ArenaTooSmall", "the arena, or an external buffer, has fewer bytes than the plan needs")
ArenaMisaligned = declare_error("ArenaMisaligned", "the arena, or an external buffer, does not start at its alignment")
NotInitialized = declare_error("NotInitialized", "the model has not all its memory yet")
OutOfSequence = declare_error("OutOfSequence", "a row or a call came out of order")
LoopTooLong = declare_error("LoopTooLong", "a loop in the model took more iterations than its limit")
FileRefused = declare_error(
    "FileRefused", "the bytes are no plan file of this version, or ask for what no model may do"
)
KernelMissing = declare_error(
    "KernelMissing", "a plan file needs a kernel, or room for one, that the core does not have"
)
NoSteps = declare_error("NoSteps", "a slice of an inference has no steps")
ArenaTaken = declare_error("ArenaTaken", "somebody else has used the arena since the inference began")
NoCheckpoint = declare_error("NoCheckpoint", "no slot has a complete checkpoint of the model")
StorageFailed = declare_error(
    "StorageFailed", "a slot for checkpoints, flash for updates, or weights in slow memory cannot be read or written"
)
PackageRefused = declare_error("PackageRefused", "the bytes are no update package of this version, are cut, or changed")
SignatureRefused = declare_error("SignatureRefused", "nobody whom the device trusts has signed an update package")
OtherDevice = declare_error("OtherDevice", "an update package is for another model, target, or format of plan files")
VersionTooOld = declare_error("VersionTooOld", "an update package's version is not above the one that the device has")
OtherBase = declare_error("OtherBase", "an update package changes another file than the one that the device has")
SlotTooSmall = declare_error("SlotTooSmall", "an update's model needs a larger slot, arena or memory of variables")
NoModel = declare_error("NoModel", "no slot has a whole model")

EVENTS = (
    InferenceStarted,
    InferenceEnded,
    InferenceMixed,
    MoreInputNeeded,
    RowReceived,
    CheckpointWritten,
    CheckpointRead,
    ModelInstalled,
    ModelConfirmed,
    UpdateRolledBack,
)
"""The events of C that are no errors."""
ERRORS = {
    "KIBI_ERROR_NULL": NullPointer,
    "KIBI_ERROR_ARENA_SIZE": ArenaTooSmall,
    "KIBI_ERROR_ARENA_ALIGNMENT": ArenaMisaligned,
    "KIBI_ERROR_NOT_INITIALIZED": NotInitialized,
    "KIBI_ERROR_SEQUENCE": OutOfSequence,
    "KIBI_ERROR_LIMIT": LoopTooLong,
    "KIBI_ERROR_FILE": FileRefused,
    "KIBI_ERROR_KERNEL": KernelMissing,
    "KIBI_ERROR_STEPS": NoSteps,
    "KIBI_ERROR_ARENA_LEASE": ArenaTaken,
    "KIBI_ERROR_CHECKPOINT": NoCheckpoint,
    "KIBI_ERROR_STORAGE": StorageFailed,
    "KIBI_ERROR_PACKAGE": PackageRefused,
    "KIBI_ERROR_SIGNATURE": SignatureRefused,
    "KIBI_ERROR_OTHER_DEVICE": OtherDevice,
    "KIBI_ERROR_OLDER": VersionTooOld,
    "KIBI_ERROR_BASE": OtherBase,
    "KIBI_ERROR_SPACE": SlotTooSmall,
    "KIBI_ERROR_NO_MODEL": NoModel,
}
"""The reported error, by status code of the C library."""
