/** The result of an interaction. respond.ts turns it into an HTTP answer, a Bundle into an entry. */
import type { FactDetails, Issue } from '../../../kernel/index.ts'
import type { ResourceType } from '../../model/service.ts'
import type { StoredVersion, WriteGuard } from '../../storage/service.ts'
import type { Prefer, Presentation } from '../presentation/presentation-parameters.ts'
import type { BinaryContent } from '../response/binary-content.ts'

export interface Answer {
  readonly status: number
  /**
   * The version that was read or made. It gives ETag and Last-Modified, and Location when it was created or found by a
   * condition.
   */
  readonly version?: StoredVersion
  /** True when a condition has found the resource; the answer then says where it is. */
  readonly isMatch?: boolean
  /** The body: the version, the content of a Binary, an OperationOutcome about the version, `text`, or no body. */
  readonly shows: 'version' | 'content' | 'outcome' | 'text' | 'nothing'
  /** Set together with `presentation`, which selects the elements of the body (_summary, _elements). */
  readonly type?: ResourceType
  readonly presentation?: Presentation
  readonly content?: BinaryContent
  /** Additional headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Details for the audit trail. */
  readonly details?: FactDetails | undefined
  /** The operation that the audit trail names instead of that of the address. */
  readonly recordedAs?: string | undefined
  /** FHIR JSON made for this answer. */
  readonly text?: string | Buffer
  /** Length of `text` in bytes, if known. */
  readonly length?: number | undefined
  /** Warnings about a change that was made, for the OperationOutcome. */
  readonly warnings?: readonly Issue[] | undefined
}

const SHOWN: Readonly<Record<Prefer['return'], Answer['shows']>> = {
  representation: 'version',
  OperationOutcome: 'outcome',
  minimal: 'nothing',
}

/** True when the answer has a Location. */
export const isLocated = ({ status, isMatch }: Answer): boolean => status === 201 || isMatch === true

/**
 * The answer to a change, in the form that `Prefer: return=` requests. When the caller may not read the version, the
 * answer has no body.
 */
export const changedAnswer = (
  status: number,
  version: StoredVersion,
  type: ResourceType,
  guard: Pick<WriteGuard, 'reads'>,
  prefer: Prefer,
  presentation: Presentation,
  warnings?: readonly Issue[] | undefined,
): Answer => {
  const asked = SHOWN[prefer.return]
  const shows = asked === 'version' && !guard.reads(version) ? 'nothing' : asked
  return { status, version, shows, type, presentation, warnings }
}
