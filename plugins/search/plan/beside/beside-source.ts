/** Resources that are not stored, and that searches of their type show behind the stored ones: the definitions of packages. */
import type { Transaction } from '../../../database/service.ts'
import type { StoredVersion } from '../../../storage/service.ts'

export interface BesideName {
  /** Stands for the resource key in page positions: negative, unlike all of those, so that ties come behind what is stored. */
  readonly rid: number
  readonly id: string
  /** The value of its element `url`. */
  readonly url?: string | undefined
  /** Microseconds since the epoch. */
  readonly versionTime: number
}

/** A `transaction` that is given has to be used for all reads: others may have to wait for its end. */
export interface BesideSource {
  /** Whether there may be resources of the type. */
  has(type: string): boolean
  /** Those of a type, in descending order of `rid`; the same list as long as they are the same resources. */
  list(type: string, transaction: Transaction | undefined): Promise<readonly BesideName[]>
  /** The content of some of them, without those that are gone. Each has the `rid` of its name. */
  versions(
    type: string,
    names: readonly BesideName[],
    transaction: Transaction | undefined,
  ): Promise<readonly StoredVersion[]>
}
