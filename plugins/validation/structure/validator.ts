/** Checks the structure of resources. The code for a type is generated from its StructureDefinition at the first use. */
import { errorsFirst } from '../../../kernel/index.ts'
import {
  BudgetExceeded,
  type DefinitionSource,
  fieldsOf,
  isDate,
  isDateTime,
  isInstant,
  isTime,
  type StructureDefinition,
  type TypeFields,
  typeUrl,
} from '../../model/service.ts'
import { generate } from './generate.ts'
import type { GeneratedCheck } from './generated-check.ts'
import type { StructureIssue } from './issue.ts'
import { mayHoldDecimalIntegers, parseWithNumberText } from './number-text.ts'
import type { Rule, RuleMaker, RuleTools } from './rule.ts'
import { createStructureFaultFactory, type StructureFaults } from './structure-issues.ts'
import {
  isBase64,
  isCode,
  isElementId,
  isIdFormat,
  isOid,
  isReference,
  isResourceId,
  isText,
  isUri,
  isUuid,
} from './text.ts'
import { createValidationRun } from './validation-run.ts'

/** Default of StructureOptions.limit. */
const MAX_ISSUES = 100

export interface StructureOptions {
  /** The JSON that the resource was parsed from. If given, an integer spelled 1.0 or 1e0 is refused too. */
  readonly text?: string
  /** Maximum number of issues to list, by default 100. One more issue then gives the number of the others. */
  readonly limit?: number
}

export interface StructureValidator {
  /** The issues of a resource; empty if there are none. Never throws for what a client sent, only if the source of definitions throws. */
  validate(resource: Record<string, unknown>, options?: StructureOptions): readonly StructureIssue[]
  /**
   * Number of members of all objects in the last resource, if it was valid. If its text has more, it has duplicate keys.
   */
  readonly keys: number
  /** URLs of the extensions in the last resource, if it was valid. */
  readonly extensions: ReadonlySet<string>
  /** Canonical URLs of the definitions that are compiled so far. */
  types(): readonly string[]
  /** The fields of a type. Undefined: not installed. Null: not loaded yet. */
  shape(url: string): TypeFields | null | undefined
}

const TOO_COSTLY = 'its repetitions make its rules too costly to check; send less in one resource'

const NONE: readonly StructureIssue[] = Object.freeze([])

const isInteger = (least: number) => (value: number) => Number.isInteger(value) && value >= least && value <= 2147483647

const FORMATS: Readonly<Record<string, (value: any) => boolean>> = {
  base64Binary: isBase64,
  boolean: () => true,
  canonical: isUri,
  code: isCode,
  date: isDate,
  dateTime: isDateTime,
  decimal: Number.isFinite,
  'element-id': isElementId,
  id: isIdFormat,
  instant: isInstant,
  integer: isInteger(-2147483648),
  markdown: isText,
  oid: isOid,
  positiveInt: isInteger(1),
  reference: isReference,
  'resource-id': isResourceId,
  string: isText,
  time: isTime,
  unsignedInt: isInteger(0),
  uri: isUri,
  url: isUri,
  uuid: isUuid,
  xhtml: () => true,
}

const REGEX = 'http://hl7.org/fhir/StructureDefinition/regex'

/** Makes the check of a primitive that FORMATS lacks from its definition. Always false if there is no definition. */
const primitiveCheck = (definition: StructureDefinition | null | undefined): ((value: unknown) => boolean) => {
  const type = definition?.snapshot?.element.find(({ path }) => path.endsWith('.value'))?.type?.[0]
  if (type === undefined) return () => false
  const json = { Boolean: 'boolean', Integer: 'number', Decimal: 'number' }[type.code.split('.').at(-1)!] ?? 'string'
  const pattern = type.extension?.find(({ url }) => url === REGEX)?.valueString
  const regex = typeof pattern === 'string' ? new RegExp(`^(?:${pattern})$`, 'u') : undefined
  return (value) => typeof value === json && (regex?.test(String(value)) ?? true) && (value !== '' || json !== 'string')
}

const STRUCTURE_ONLY = (): RuleMaker => ({ hasRules: () => false, make: () => null })

/** `makeRules` adds rules besides the structure, such as invariants. */
export const createStructureValidator = (
  source: DefinitionSource,
  makeRules: (tools: RuleTools) => RuleMaker = STRUCTURE_ONLY,
): StructureValidator => {
  const compiled = new Map<string, GeneratedCheck>()
  const resources = new Map<string, GeneratedCheck>()
  const others = new Map<string, (value: unknown) => boolean>()
  const formats = Object.assign(Object.create(null), FORMATS)
  const faults = createStructureFaultFactory(formats)
  let isSpelled = false

  const other = (name: string, value: unknown): boolean => {
    let check = others.get(name)
    if (check === undefined) {
      const definition = source.definition(typeUrl(name))
      check = primitiveCheck(definition)
      if (definition === null || definition === undefined) return false
      others.set(name, check)
      formats[name] = check
    }
    return check(value)
  }

  const shapes = new Map<string, TypeFields>()

  const shapeFrom = (definition: StructureDefinition): TypeFields => {
    const known = shapes.get(definition.url)
    if (known !== undefined) return known
    const shape = fieldsOf(definition)
    shapes.set(definition.url, shape)
    return shape
  }

  /** Undefined if the rules need a definition that is not loaded yet. */
  const compile = (definition: StructureDefinition): GeneratedCheck | undefined => {
    const known = compiled.get(definition.url)
    if (known !== undefined) return known
    const shape = shapeFrom(definition)
    const { source: code, sites } = generate(shape, (site) => ruleMaker.hasRules(shape, site))
    const rules: Rule[] = []
    for (const site of sites) {
      const rule = ruleMaker.make(shape, site)
      // The second run, with ParsedWithNumberText in place of numbers, checks only the structure: rules need numbers.
      if (rule !== null)
        rules.push((found, path, value, index) => (isSpelled ? found : rule(found, path, value, index)))
    }
    if (rules.length < sites.length) return undefined
    const check = new Function('surroundings', 'R', code)(surroundings, rules) as GeneratedCheck
    compiled.set(definition.url, check)
    return check
  }

  const link = (url: string, profile?: string): GeneratedCheck | undefined => {
    const known = compiled.get(profile ?? url)
    if (known !== undefined) return known
    // A profile on a data type narrows its structure. If the profile is not installed, the type itself is checked.
    const narrow = profile === undefined ? undefined : source.definition(profile)
    if (narrow === null) return undefined
    if (narrow?.kind === 'complex-type' && narrow.snapshot !== undefined) return compile(narrow)
    const definition = source.definition(url)
    return definition?.snapshot === undefined ? undefined : compile(definition)
  }

  const notInstalled = (url: string): StructureFaults =>
    faults.add(null, 'not-supported', '', `the definition of its type, ${url}, is not installed`)

  const resource = (type: string): GeneratedCheck | undefined => {
    const known = resources.get(type)
    if (known !== undefined) return known
    if (!/^[A-Z][A-Za-z]{0,63}$/.test(type)) return undefined
    const definition = source.definition(typeUrl(type))
    if (definition?.snapshot === undefined) return undefined
    if (definition.kind !== 'resource' || definition.abstract || definition.type !== type) return undefined
    const check = compile(definition)
    if (check !== undefined) resources.set(type, check)
    return check
  }

  const run = createValidationRun(faults, resource)
  const shape = (url: string): TypeFields | null | undefined => {
    const known = shapes.get(url)
    if (known !== undefined) return known
    const definition = source.definition(url)
    if (definition === null) return null
    return definition?.snapshot === undefined ? undefined : shapeFrom(definition)
  }
  const ruleMaker = makeRules({ faults, context: run.context, shape })
  const surroundings = {
    ...run.functions,
    ...faults,
    ...{
      isBase64,
      isUri,
      isCode,
      isDate,
      isDateTime,
      isId: isIdFormat,
      isInstant,
      isElementId,
      isText,
      isOid,
      isReference,
      isResourceId,
      isTime,
      isUuid,
    },
    other,
    link,
    notInstalled,
  }

  const check = (value: unknown, limit: number): StructureFaults => {
    run.reset()
    faults.reset(limit)
    try {
      return run.anyResource(value)
    } catch (error) {
      if (error instanceof RangeError) return faults.add(null, 'structure', '', 'it is nested too deeply')
      if (error instanceof BudgetExceeded) return faults.add(null, 'too-costly', '', TOO_COSTLY)
      throw error
    }
  }

  const checkSpelled = (text: string, limit: number): StructureFaults => {
    isSpelled = true
    try {
      return check(parseWithNumberText(text), limit)
    } finally {
      isSpelled = false
    }
  }

  const issues = (value: Record<string, unknown>, found: StructureFaults, limit: number): StructureIssue[] => {
    const root =
      typeof value?.resourceType === 'string' && resources.has(value.resourceType) ? value.resourceType : 'Resource'
    const list = errorsFirst(found ?? [])
      .slice(0, limit)
      .map(
        ({ severity, code, text, path }): StructureIssue => ({
          severity,
          code,
          diagnostics: `${root}${path}: ${text}.`.replace(/\.\.$/, '.'),
          expression: [root + path],
        }),
      )
    const unlisted = faults.found - list.length
    if (unlisted > 0) {
      list.push({
        severity: 'information',
        code: 'informational',
        diagnostics: `${unlisted} more issues are not listed.`,
        expression: [root],
      })
    }
    return list
  }

  return {
    validate(value, { text, limit = MAX_ISSUES } = {}) {
      const found = check(value, limit)
      const first = found === null ? NONE : issues(value, found, limit)
      if (found !== null && !faults.mild(found)) return first
      if (text === undefined || run.context.integers === 0 || !mayHoldDecimalIntegers(text)) return first
      const keys = run.context.keys
      const spelled = checkSpelled(text, limit)
      if (spelled !== null && !faults.mild(spelled)) return issues(value, spelled, limit)
      run.context.keys = keys
      return first
    },
    get keys() {
      return run.context.keys
    },
    get extensions() {
      return run.context.extensions
    },
    types: () => [...compiled.keys()],
    shape,
  }
}
