/** What became of an interaction: turned into an HTTP answer by respond.ts, into an entry by a Bundle. */
import type { FactDetails, Issue } from '../../../kernel/index.ts'
import type { ResourceType } from '../../model/service.ts'
import type { StoredVersion, WriteGuard } from '../../storage/service.ts'
import type { Prefer, Presentation } from '../presentation/presentation-parameters.ts'
import type { BinaryContent } from '../response/binary-content.ts'

export interface Answer {
  readonly status: number
  /** The version read or made: ETag, Last-Modified, Location where it was created or found by a condition. */
  readonly version?: StoredVersion
  /** A condition chose the resource: the client learns from the answer where it is. */
  readonly isMatch?: boolean
  /** What the body is: that version, the content of that Binary, an outcome that names it, `text`, or none. */
  readonly shows: 'version' | 'content' | 'outcome' | 'text' | 'nothing'
  /** How to show the version. */
  readonly type?: ResourceType
  readonly presentation?: Presentation
  readonly content?: BinaryContent
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** For the trail. */
  readonly details?: FactDetails
  /** FHIR JSON made for this answer. */
  readonly text?: string | Buffer
  /** Bytes of the text, where they are known. */
  readonly length?: number | undefined
  /** What was said about a change that was made, for its outcome. */
  readonly warnings?: readonly Issue[] | undefined
}

const SHOWN: Readonly<Record<Prefer['return'], Answer['shows']>> = {
  representation: 'version',
  OperationOutcome: 'outcome',
  minimal: 'nothing',
}

/** Does an answer say where its version is? */
export const isLocated = ({ status, isMatch }: Answer): boolean => status === 201 || isMatch === true

/** The answer to a change, in the form `Prefer: return=` asks for; minimal where the caller may not read the version. */
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
