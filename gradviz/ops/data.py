"""Datasets, databases, queues, readers and indexes."""

from gradviz.ops.registry import NONE, SHOULD_NOT, operator
from gradviz.ops.schema import MANY, one_ahead, same

operator("CheckDatasetConsistency", inputs=(1, MANY), outputs=0, args="fields", gradient=SHOULD_NOT)
operator("Checkpoint", inputs=(1, MANY), outputs=0, args="absolute_path db db_type every", gradient=SHOULD_NOT)
operator("CloseBlobsQueue", inputs=1, outputs=0, gradient=NONE)
operator("CloseRebatchingQueue", inputs=1, outputs=0, gradient=NONE)
operator(
    "CollectTensor",
    outputs=(1, MANY),
    arities=lambda i, o: i == 2 * o,
    enforced=same,
    args="num_to_collect",
    gradient=SHOULD_NOT,
)
operator("ConcatTensorVector", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("CreateBlobsQueue", inputs=0, outputs=1, gradient=NONE)
operator(
    "CreateBlobsQueueDB", inputs=1, outputs=1, args="key_blob_index value_blob_index timeout_secs", gradient=SHOULD_NOT
)
operator("CreateDB", inputs=0, outputs=1, gradient=NONE)
operator("CreateMap", inputs=0, outputs=1, args="key_dtype value_dtype")
operator("CreateRebatchingQueue", inputs=0, outputs=1, args="num_blobs capacity", gradient=NONE)
operator("CreateTensorVector", inputs=0, outputs=1, gradient=SHOULD_NOT)
operator("CreateTextFileReader", inputs=0, outputs=1, args="filename num_passes field_types", gradient=NONE)
operator("CreateTreeCursor", inputs=0, outputs=1, args="fields", gradient=SHOULD_NOT)
operator("DBExists", inputs=0, outputs=1, args="absolute_path db_name db_type", gradient=SHOULD_NOT)
operator("DataCouple", enforced=same)
operator("DequeueBlobs", arities=lambda i, o: i == 1 <= o, args="timeout_secs", gradient=NONE)
operator("DequeueRebatchingQueue", inputs=1, outputs=(1, MANY), args="num_elements", gradient=NONE)
operator("EnqueueBlobs", arities=lambda i, o: i == o + 1 >= 2, enforced=one_ahead, gradient=NONE)
operator("EnqueueRebatchingQueue", inputs=(2, MANY), outputs=0, args="enqueue_batch", gradient=NONE)
operator("GetCursorOffset", inputs=1, outputs=1)
operator("HasElements", inputs=(1, MANY), outputs=1, gradient=SHOULD_NOT)
operator("IDEEPCreateBlobsQueueOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator("IDEEPSafeEnqueueBlobsOp", checked=False, runs=False, gradient=SHOULD_NOT)
operator("IndexFreeze", inputs=1, outputs=1, enforced=[(0, 0)], gradient=SHOULD_NOT)
operator("IndexGet", inputs=2, outputs=1)
operator("IndexGetOp", checked=False, runs=False, gradient=NONE)
operator("IndexLoad", inputs=2, outputs=1, enforced=[(0, 0)], args="skip_first_entry", gradient=SHOULD_NOT)
operator("IndexSize", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("IndexStore", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("IntIndexCreate", inputs=0, outputs=1, args="max_elements", gradient=NONE)
operator("KeyValueToMap", inputs=2, outputs=1)
operator(
    "LastNWindowCollector",
    outputs=(2, 3),
    arities=[(3, 2), (3, 3), (4, 2), (4, 3), (5, 2), (5, 3)],
    enforced=[(0, 0), (1, 1), (4, 2)],
    args="num_to_collect",
    gradient=SHOULD_NOT,
)
operator(
    "Load",
    args="absolute_path add_prefix strip_prefix db dbs db_type keep_device load_all allow_incomplete source_blob_names",
    gradient=NONE,
)
operator("LongIndexCreate", inputs=0, outputs=1, args="max_elements", gradient=NONE)
operator("MapToKeyValue", inputs=1, outputs=2)
operator("PackRecords", inputs=(1, MANY), outputs=1, args="fields", gradient=SHOULD_NOT)
operator("ReadNextBatch", inputs=(1, MANY), outputs=(1, MANY), args="batch_size", gradient=SHOULD_NOT)
operator("ReadRandomBatch", inputs=(1, MANY), outputs=(1, MANY), args="batch_size loop_over", gradient=SHOULD_NOT)
operator("ResetCursor", inputs=1, outputs=0, gradient=SHOULD_NOT)
operator("SafeDequeueBlobs", arities=lambda i, o: i == 1 and o >= 2, args="num_records", gradient=NONE)
operator("SafeEnqueueBlobs", arities=lambda i, o: i == o >= 2, enforced=one_ahead, gradient=NONE)
operator(
    "Save",
    inputs=(1, MANY),
    outputs=0,
    args="absolute_path strip_prefix blob_name_overrides db db_type chunk_size",
    gradient=SHOULD_NOT,
)
operator("Snapshot", gradient=SHOULD_NOT)
operator("StringIndexCreate", inputs=0, outputs=1, args="max_elements", gradient=NONE)
operator("TensorProtosDBInput", inputs=1, outputs=(1, MANY), args="batch_size", gradient=NONE)
operator("TensorVectorSize", inputs=1, outputs=1, gradient=SHOULD_NOT)
operator("TextFileReaderRead", inputs=1, outputs=(1, MANY), args="batch_size", gradient=NONE)
operator("TrimDataset", inputs=(1, MANY), outputs=(1, MANY), enforced=same, args="fields")
operator("UnPackRecords", inputs=(1, MANY), outputs=(1, MANY), args="fields", gradient=SHOULD_NOT)
operator(
    "WeightedSampleDequeueBlobs", inputs=(1, MANY), outputs=(2, MANY), args="weights table_idx_blob", gradient=NONE
)
