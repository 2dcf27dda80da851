/** Checks the structure of resources. The code for a type is generated from its StructureDefinition at the first use. */
import { errorsFirst } from '../../../kernel/index.ts'
import {
  BudgetExceeded,
  type DefinitionSource,
  isDate,
  isDateTime,
  isInstant,
  isTime,
  type StructureDefinition,
  type TypeFields,
} from '../../model/service.ts'
import { createCompiledChecks } from './compiled-checks.ts'
import { createFormats } from './formats.ts'
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
import { createTypeShapes } from './type-shapes.ts'
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

/** The tests of values that generated code calls by name. */
const VALUE_TESTS = {
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
}

const STRUCTURE_ONLY = (): RuleMaker => ({ hasRules: () => false, make: () => null })

/** Lists at most `limit` faults, errors first, and the number of the others. `total`: the number of all faults. */
const toIssues = (root: string, found: StructureFaults, total: number, limit: number): StructureIssue[] => {
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
  const unlisted = total - list.length
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

/** `makeRules` adds rules besides the structure, such as invariants. */
export const createStructureValidator = (
  source: DefinitionSource,
  makeRules: (tools: RuleTools) => RuleMaker = STRUCTURE_ONLY,
): StructureValidator => {
  const formats = createFormats(source)
  const faults = createStructureFaultFactory(formats.tests)
  const shapes = createTypeShapes(source)
  let isSpelled = false

  /** Undefined if the rules need a definition that is not loaded yet. */
  const make = (definition: StructureDefinition): GeneratedCheck | undefined => {
    const shape = shapes.shapeFrom(definition)
    const { source: code, sites } = generate(shape, (site) => ruleMaker.hasRules(shape, site))
    const rules: Rule[] = []
    for (const site of sites) {
      const rule = ruleMaker.make(shape, site)
      // The second run, with ParsedWithNumberText in place of numbers, checks only the structure: rules need numbers.
      if (rule !== null)
        rules.push((found, path, value, index) => (isSpelled ? found : rule(found, path, value, index)))
    }
    if (rules.length < sites.length) return undefined
    return new Function('surroundings', 'R', code)(surroundings, rules) as GeneratedCheck
  }

  const notInstalled = (url: string): StructureFaults =>
    faults.add(null, 'not-supported', '', `the definition of its type, ${url}, is not installed`)

  const checks = createCompiledChecks(source, make)
  const run = createValidationRun(faults, checks.resource)
  const ruleMaker = makeRules({ faults, context: run.context, shape: shapes.shape })
  const surroundings = {
    ...run.functions,
    ...faults,
    ...VALUE_TESTS,
    other: formats.other,
    link: checks.link,
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
    const { resourceType } = value ?? {}
    const isKnown = typeof resourceType === 'string' && checks.hasResource(resourceType)
    return toIssues(isKnown ? resourceType : 'Resource', found, faults.found, limit)
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
    types: checks.types,
    shape: shapes.shape,
  }
}
