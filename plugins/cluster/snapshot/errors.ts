/** Errors of the request header X-Snapshot. */
import { defineError } from '../../../kernel/index.ts'

export const SnapshotMalformed = defineError(
  'cluster/snapshot-malformed',
  400,
  'value',
  'The header X-Snapshot is not one that a server sends; send it back as it was.',
)
export const SnapshotGone = defineError(
  'cluster/snapshot-gone',
  409,
  'conflict',
  'The header X-Snapshot is of another database, or of a state of this one that was lost; leave it out and read again.',
)
export const SnapshotAhead = defineError(
  'cluster/snapshot-ahead',
  409,
  'conflict',
  'The header X-Snapshot is newer than the newest state of this database; leave it out and read again.',
)
