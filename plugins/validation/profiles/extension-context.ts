/** Where an extension may stand: the contexts of its definition. https://hl7.org/fhir/R4/defining-extensions.html#context */
import type { ElementContent } from './element-location.ts'

export interface ExtensionContext {
  readonly type: string
  readonly expression: string
}

const CORE = 'http://hl7.org/fhir/StructureDefinition/'

/** Elements on which R4's own definitions have an extension, though the context in its definition leaves them out. */
const USED_BY_R4: Readonly<Record<string, readonly string[]>> = {
  [`${CORE}regex`]: ['ElementDefinition.type'],
  [`${CORE}structuredefinition-fhir-type`]: ['ElementDefinition.type'],
  [`${CORE}structuredefinition-normative-version`]: [
    'CodeSystem',
    'ElementDefinition',
    'OperationDefinition',
    'ValueSet',
  ],
  [`${CORE}translation`]: ['ValueSet.expansion.contains'],
  [`${CORE}valueset-concept-comments`]: ['CodeSystem.concept'],
}

/** An element that holds extensions, with those it stands in up to its resource. */
export interface Holder {
  readonly up: Holder | undefined
  /** Its name in `up`; '' for a resource. */
  readonly name: string
  /** What it is called where it is defined: `Patient`, `Patient.contact`, `HumanName`, `date`. */
  readonly type: string
  readonly block: ElementContent['block'] | undefined
  readonly isResource: boolean
  /** Of an extension. */
  readonly url: string | undefined
}

/** Types that derive from another data type; all derive from Element. */
const DERIVED: Readonly<Record<string, string>> = {
  ...{ Age: 'Quantity', Count: 'Quantity', Distance: 'Quantity', Duration: 'Quantity' },
  ...{ code: 'string', id: 'string', markdown: 'string', positiveInt: 'integer', unsignedInt: 'integer' },
  ...{ canonical: 'uri', oid: 'uri', url: 'uri', uuid: 'uri', reference: 'string' },
}

const has = ({ block }: Holder, name: string): boolean => block?.fields.some((field) => field.name === name) === true

const typesOf = (holder: Holder): readonly string[] => {
  const { type, isResource } = holder
  if (isResource) return has(holder, 'contained') ? [type, 'DomainResource', 'Resource'] : [type, 'Resource']
  const derived = Object.hasOwn(DERIVED, type) ? [DERIVED[type]!] : []
  return has(holder, 'modifierExtension') ? [type, 'BackboneElement', 'Element'] : [type, ...derived, 'Element']
}

/**
 * Whether the path names the element, from any type around it: `Patient.contact.name.family`, `HumanName.family`, `string`.
 * Elements may be nested thousands deep, so what is longer than the path is not put together.
 */
const isNamedBy = (path: string, holder: Holder): boolean => {
  let below = ''
  for (let at: Holder | undefined = holder; at !== undefined && below.length < path.length; at = at.up) {
    if (path.endsWith(below) && typesOf(at).includes(path.slice(0, path.length - below.length))) return true
    if (at.isResource) return false
    below = `.${at.name}${below}`
  }
  return false
}

/** Without the profile it is from, names of slices, and [x]: what has to fit in any case. */
const bare = (expression: string): string => expression.replace(/^.*#/, '').replace(/:[^.]*|\[x\]/g, '')

const isWithin = ({ url, up }: Holder, expression: string): boolean =>
  url !== undefined && (url === expression || (up?.url !== undefined && `${up.url}#${url}` === expression))

/** Whether the extension may stand on the element. Conditions in FHIRPath are not tried: they refuse nothing. */
export const isAllowedOn = (url: string, contexts: readonly ExtensionContext[], holder: Holder): boolean => {
  if (contexts.length === 0) return true
  if (Object.hasOwn(USED_BY_R4, url) && USED_BY_R4[url]!.some((path) => isNamedBy(path, holder))) return true
  return contexts.some(({ type, expression }) => {
    if (type === 'extension') return isWithin(holder, expression)
    if (type !== 'element') return true
    const wanted = bare(expression)
    return wanted === 'Element' || isNamedBy(wanted, holder)
  })
}
