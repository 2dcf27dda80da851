/** Errors of value sets and code systems. */
import { defineError } from '../../kernel/index.ts'

export const NotExpandable = defineError(
  'terminology/not-expandable',
  400,
  'not-supported',
  'The value set "%s" cannot be expanded here: %s.',
)
export const TooManyCodes = defineError(
  'terminology/too-many-codes',
  400,
  'too-costly',
  'The value set or hierarchy "%s" stands for more than %s codes. Choose a smaller one.',
)
export const ValueSetUnknown = defineError(
  'terminology/value-set-unknown',
  404,
  'not-found',
  'There is no value set "%s" here.',
)
export const CodeSystemUnknown = defineError(
  'terminology/code-system-unknown',
  404,
  'not-found',
  'There is no code system "%s" here.',
)
export const CodeUnknown = defineError(
  'terminology/code-unknown',
  404,
  'not-found',
  'The code system "%s" has no code "%s".',
)
export const CodeNotInFragment = defineError(
  'terminology/code-not-in-fragment',
  404,
  'not-found',
  'Of the code system "%s" only a fragment is here, and that has no code "%s".',
)
export const CodeSystemIncomplete = defineError(
  'terminology/code-system-incomplete',
  400,
  'not-supported',
  'Of the code system "%s" there is only what is called "%s": it does not tell.',
)
export const InputMissing = defineError('terminology/input-missing', 400, 'required', '$%s needs %s.')
export const NoHierarchy = defineError(
  'terminology/no-hierarchy',
  400,
  'not-supported',
  'What is above or below "%s" is not known here: %s.',
)
export const InputsContradict = defineError(
  'terminology/inputs-contradict',
  400,
  'invalid',
  '$%s: %s "%s" contradicts %s "%s". Leave one of them out.',
)
export const InputValue = defineError('terminology/input-value', 400, 'value', '$%s: %s cannot be "%s"; %s.')
export const ContextUnknown = defineError(
  'terminology/context-unknown',
  404,
  'not-found',
  'The element "%s" is not here, or is bound to no value set.',
)
export const ChangedSince = defineError(
  'terminology/changed-since',
  400,
  'not-supported',
  '$%s cannot answer for the date %s: %s.',
)
export const InputNegative = defineError(
  'terminology/input-negative',
  400,
  'value',
  '$expand: %s is %s; it takes 0 or more.',
)
export const ConceptMapUnknown = defineError(
  'terminology/concept-map-unknown',
  404,
  'not-found',
  'There is no concept map "%s" here.',
)
export const TooManyMaps = defineError(
  'terminology/too-many-maps',
  400,
  'too-costly',
  'More than %s {concept map|concept maps} here map codes of "%s". Name one of them as url.',
)
export const InputsTooMany = defineError(
  'terminology/inputs-too-many',
  400,
  'invalid',
  '$%s takes one of %s, and the request has %s.',
)
export const ClosureUnknown = defineError(
  'terminology/closure-unknown',
  404,
  'not-found',
  'There is no closure "%s" of this caller here. Send $closure with this name alone to begin it.',
)
export const ClosureVersion = defineError(
  'terminology/closure-version',
  400,
  'value',
  'The closure "%s" has the version %s, and the request asks for what came after version %s. Begin it again.',
)
export const ClosureFull = defineError(
  'terminology/closure-full',
  400,
  'too-costly',
  'The closure "%s" would have more than %s {code|codes} or %s {entry|entries}. Begin another one.',
)
export const ClosureInBundle = defineError(
  'terminology/closure-in-bundle',
  400,
  'not-supported',
  '$closure cannot be an entry of a Bundle. Send it as a request of its own.',
)
export const NotCompositional = defineError(
  'terminology/not-compositional',
  400,
  'not-supported',
  '$find-matches gives codes of the code system only, no composed expressions. Leave compositional out.',
)
export const CodeTwice = defineError(
  'terminology/code-twice',
  400,
  'duplicate',
  'The code system "%s" cannot be loaded: a code of batch %s is there twice. Leave one of them out.',
)
export const LoadRunning = defineError(
  'terminology/load-running',
  409,
  'conflict',
  'The source "%s" is being loaded already. Wait until that load has ended.',
)
export const PageNeeded = defineError(
  'terminology/page-needed',
  400,
  'too-costly',
  '$expand: the value set "%s" has more codes than the %s that an answer may have. Ask for pages, with count and offset.',
)
export const PullAway = defineError(
  'terminology/pull-away',
  503,
  'transient',
  'The terminology server at %s does not answer: %s. What was pulled before stays in use; pull again later.',
)
export const PullRefused = defineError(
  'terminology/pull-refused',
  500,
  'exception',
  'Terminology cannot be pulled from %s: %s. What was pulled before stays in use; check [terminology] urls.',
)
export const PullMalformed = defineError(
  'terminology/pull-malformed',
  500,
  'structure',
  'The %s "%s" of %s was not pulled: %s. What was pulled of it before stays in use.',
)
export const ReleasePath = defineError('terminology/release-path', 400, 'not-found', '%s cannot be read: %s.')
export const ReleaseUnknown = defineError(
  'terminology/release-unknown',
  400,
  'not-supported',
  '%s: there is no release of SNOMED CT (…_Concept_…Snapshot….txt), none of LOINC (Loinc.csv or LoincTableCore.csv), and no CodeSystem (.json). Give the zip file as it was downloaded, or the folder it was unpacked to.',
)
export const ReleaseMixed = defineError(
  'terminology/release-mixed',
  400,
  'invalid',
  'There are %s among the files. Load one code system at a time.',
)
export const ReleaseLine = defineError('terminology/release-line', 400, 'invalid', '%s, line %s: %s.')
export const ReleaseFile = defineError('terminology/release-file', 400, 'invalid', '%s: %s.')
