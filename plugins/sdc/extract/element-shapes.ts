/** What the elements of types are called in JSON, whether they repeat, and which types they have. */
import { isObject, type Json, objectsIn, textOf } from '../questionnaire/json.ts'
import type { Ask } from '../threads/ask.ts'

const CORE = 'http://hl7.org/fhir/StructureDefinition/'
const MAX_STEPS = 20

/** A step of a path: a member of a JSON object. */
export interface Step {
  readonly key: string
  readonly isList: boolean
  /** The FHIR type of the element; a backbone element has the path of its definition. */
  readonly type: string
}

interface Definition {
  readonly type: string
  readonly isProfile: boolean
  /** By path. */
  readonly elements: ReadonlyMap<string, Json>
}

export interface ElementShapes {
  /** The resource type of a definition, and whether it is a profile. Undefined where it is not installed. */
  resourceType(url: string): Promise<{ readonly type: string; readonly isProfile: boolean } | undefined>
  /**
   * The steps of a path such as `name.given` or `value[x]:valueQuantity.value`. `valueType`: the type of the value, which
   * chooses among the types of a choice. Undefined where the type has no such element.
   */
  steps(type: string, path: string, valueType: string): Promise<readonly Step[] | undefined>
}

const capital = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`

/** Types in which a value can be held, the best first. */
const HOLDERS: Readonly<Record<string, readonly string[]>> = {
  Coding: ['Coding', 'CodeableConcept', 'code', 'string'],
  code: ['code', 'string', 'uri'],
  string: ['string', 'markdown', 'code', 'uri', 'CodeableConcept', 'Reference'],
  uri: ['uri', 'url', 'canonical', 'string'],
  date: ['date', 'dateTime', 'Period'],
  dateTime: ['dateTime', 'instant', 'date'],
  instant: ['instant', 'dateTime'],
  integer: ['integer', 'decimal', 'Quantity', 'positiveInt', 'unsignedInt', 'string'],
  decimal: ['decimal', 'Quantity', 'string'],
}

const chooseType = (types: readonly string[], valueType: string): string | undefined =>
  [valueType, ...(HOLDERS[valueType] ?? [])].find((one) => types.includes(one))

const typesOf = (element: Json): readonly string[] =>
  objectsIn(element.type).flatMap(({ code, extension }) => {
    // The types of ids and of FHIRPath's own are URLs; FHIR's name stands in an extension.
    const own = objectsIn(extension).find(({ url }) => url === `${CORE}structuredefinition-fhir-type`)
    const name = textOf(own?.valueUrl) ?? textOf(code)
    return name === undefined
      ? []
      : [name.replace('http://hl7.org/fhirpath/System.', '').toLowerCase() === 'string' ? 'string' : name]
  })

export const createElementShapes = (ask: Ask): ElementShapes => {
  const definitions = new Map<string, Definition | undefined>()
  const definition = async (url: string): Promise<Definition | undefined> => {
    if (definitions.has(url)) return definitions.get(url)
    const json = await ask({ kind: 'definition', url })
    const read = json === undefined ? undefined : (JSON.parse(json) as Json)
    const { element } = isObject(read?.snapshot) ? read.snapshot : {}
    const made =
      read === undefined || typeof read.type !== 'string'
        ? undefined
        : {
            type: read.type,
            isProfile: read.derivation === 'constraint',
            elements: new Map(
              objectsIn(element)
                .filter(({ sliceName }) => sliceName === undefined)
                .map((one): [string, Json] => [String(one.path), one]),
            ),
          }
    definitions.set(url, made)
    return made
  }

  /** The element `name` below a type or a backbone element, as a step. */
  const stepTo = async (from: string, segment: string, valueType: string | undefined): Promise<Step | undefined> => {
    const [named = '', slice] = segment.split(':')
    const [root = ''] = from.split('.')
    const elements = (await definition(`${CORE}${root}`))?.elements
    if (elements === undefined) return undefined
    const plain = elements.get(`${from}.${named}`)
    if (plain !== undefined && !named.endsWith('[x]')) {
      const { contentReference, max, path } = plain
      const [type = ''] = typesOf(plain)
      const isBackbone = type === 'BackboneElement' || type === 'Element'
      const inner = typeof contentReference === 'string' ? contentReference.slice(1) : isBackbone ? String(path) : type
      return { key: named, isList: max !== '1' && max !== '0', type: inner }
    }
    const base = named.replace(/\[x\]$/, '')
    const choice = elements.get(`${from}.${base}[x]`)
    if (choice !== undefined) {
      const types = typesOf(choice)
      const wanted = slice?.startsWith(base) ? types.find((one) => slice === `${base}${capital(one)}`) : undefined
      const type = wanted ?? (valueType === undefined ? types[0] : chooseType(types, valueType))
      return type === undefined ? undefined : { key: `${base}${capital(type)}`, isList: false, type }
    }
    // The name of one type of a choice, such as valueQuantity.
    for (const [path, element] of elements) {
      if (!path.startsWith(`${from}.`) || !path.endsWith('[x]')) continue
      const start = path.slice(from.length + 1, -3)
      const type = typesOf(element).find((one) => named === `${start}${capital(one)}`)
      if (type !== undefined) return { key: named, isList: false, type }
    }
    return undefined
  }

  return {
    async resourceType(url) {
      const found = await definition(url.split('|')[0] as string)
      return found === undefined ? undefined : { type: found.type, isProfile: found.isProfile }
    },
    async steps(type, path, valueType) {
      const segments = path.split('.')
      if (segments.length > MAX_STEPS) return undefined
      const steps: Step[] = []
      let from = type
      for (const [at, segment] of segments.entries()) {
        const step = await stepTo(from, segment, at === segments.length - 1 ? valueType : undefined)
        if (step === undefined) return undefined
        steps.push(step)
        from = step.type
      }
      return steps
    },
  }
}
