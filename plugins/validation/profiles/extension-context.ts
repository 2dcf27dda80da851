/** Checks that an extension is on an element that its definition allows. https://hl7.org/fhir/R4/defining-extensions.html#context */
import type { ElementContent } from './element-location.ts'

export interface ExtensionContext {
  readonly type: string
  readonly expression: string
}

const CORE = 'http://hl7.org/fhir/StructureDefinition/'

/** Elements on which R4's own resources have an extension although the context of its definition does not list them. */
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

/** An element that has extensions. `up` leads through the elements around it to its resource. */
export interface Holder {
  readonly up: Holder | undefined
  /** Name of the element in `up`; '' for a resource. */
  readonly name: string
  /** Name of its type, or its path if it is defined in place: `Patient`, `HumanName`, `date`, `Patient.contact`. */
  readonly type: string
  readonly block: ElementContent['block'] | undefined
  readonly isResource: boolean
  /** The URL if the element is itself an extension. */
  readonly url: string | undefined
}

/** Data types that specialize another data type. All of them also specialize Element. */
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
 * Whether the path names the element, starting from any type around it: `Patient.contact.name.family`, `HumanName.family` and
 * `string` can name the same element. The loop ends when its path is longer than `path`, because a client may nest elements
 * thousands of levels deep.
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

/** Removes the URL of a profile, slice names and [x] from a context: only the path of the element is compared. */
const bare = (expression: string): string => expression.replace(/^.*#/, '').replace(/:[^.]*|\[x\]/g, '')

const isWithin = ({ url, up }: Holder, expression: string): boolean =>
  url !== undefined && (url === expression || (up?.url !== undefined && `${up.url}#${url}` === expression))

/** Whether the element may have the extension. A context that is a FHIRPath expression is not evaluated, and allows every element. */
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
