/** The order of commits as a server knows it. The numbers come from the writer lease and the database. */
import { defineService } from '../../../kernel/index.ts'

/** A state of the database: all commits up to `seq` of an epoch, and those of earlier epochs. */
export interface Snapshot {
  /** Counts the times that a server became primary: 1, 2, 3, … */
  readonly epoch: number
  /** Counts commits; goes on through all epochs. */
  readonly seq: number
}

export interface Epoch {
  /** Random text, made with the epoch: distinguishes two epochs with one number, after a restore of the database. */
  readonly term: string
  /** Its last commit that lasted, where another epoch followed it. */
  readonly lastSeq: number | undefined
}

export interface SnapshotSource {
  /** The newest that answers of this server show; on the primary what is on disk. Undefined before the first one. */
  readonly current: Snapshot | undefined
  /** An epoch of this database. Undefined where it has none of this number. */
  epochOf(epoch: number): Epoch | undefined | Promise<Epoch | undefined>
  /**
   * Looks into the database once, and resolves when `current` is what it had. `reach`: a state that a client sent.
   * Rejects where the database does not answer.
   */
  look(reach?: Snapshot): Promise<void>
  /** Resolves when `current` changes or the signal aborts. */
  changed(signal: AbortSignal): Promise<void>
}

/** Provided where other servers may share the database. */
export const SnapshotSource = defineService<SnapshotSource>('cluster.snapshot')

/** True where `one` is as new as `other`, or newer. */
export const covers = (one: Snapshot, other: Snapshot): boolean => one.epoch >= other.epoch && one.seq >= other.seq
