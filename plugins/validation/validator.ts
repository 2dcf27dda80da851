/** The Validator service: structure and rules in one pass, then profiles, then what other plugins added. */
import { errorsFirst, type Issue } from '../../kernel/index.ts'
import { chain } from '../database/service.ts'
import type { Definitions } from '../packages/service.ts'
import { type CompiledPackages, compiledFrom } from './compiled-packages.ts'
import type { Level } from './config.ts'
import { RulesRefused, StructureRefused } from './errors.ts'
import { sampleOf } from './sample-of.ts'
import type { AddedCheck, ValidationOptions, Validator } from './validator-contract.ts'

type Resource = Readonly<Record<string, unknown>>
type Issues = readonly Issue[]

/** $validate lists every issue; this bounds the answer to a resource that is nothing but issues. */
const MAX_ISSUES_IN_FULL = 10_000
/** The answer to a refused write. */
const MAX_ISSUES_OF_A_WRITE = 100

const NO_PROFILES: readonly string[] = []

const isError = ({ severity }: Issue): boolean => severity === 'error' || severity === 'fatal'
/** Of what was found with the structure: a fault of it, as against a rule of the type that is broken. */
const isStructural = (issue: Issue): boolean =>
  isError(issue) && issue.code !== 'invariant' && issue.code !== 'code-invalid'

/** A text that is longer is of a resource that takes milliseconds to validate. */
const SAMPLED_CHARS = 100_000

interface Findings {
  readonly issues: Issues
  /** The structure is broken, so that nothing else was looked at. */
  readonly isBroken: boolean
}

/** dom-6, which recommends a narrative: worth saying to who asks, not at every write. */
const narrativeHint = ({ resourceType, text }: Resource): Issues => {
  const isDomainResource = !['Bundle', 'Binary', 'Parameters'].includes(String(resourceType))
  if (!isDomainResource || (text as { div?: unknown } | undefined)?.div !== undefined) return []
  const expression = [String(resourceType)]
  const diagnostics = `${resourceType}: dom-6: A resource should have narrative for robust management.`
  return [{ severity: 'warning', code: 'invariant', diagnostics, expression }]
}

export const createValidator = ({ definitions, level }: { definitions: Definitions; level: Level }): Validator => {
  const added: AddedCheck[] = []
  let compiled: CompiledPackages | undefined

  const current = (): CompiledPackages => {
    if (compiled?.fingerprint !== definitions.fingerprint) compiled = compiledFrom(definitions)
    return compiled
  }

  /** The checks of definitions up to a level; what comes later is left out where the structure is broken. */
  const defined = (
    resource: Resource,
    { text, profiles = NO_PROFILES }: ValidationOptions,
    upTo: Level,
    limit: number,
  ): Findings | Promise<Findings> => {
    const { source, structure, rules, profiles: profileChecks } = current()
    const validate = (one: Resource, written: string | undefined): Findings => {
      const options = written === undefined ? { limit } : { text: written, limit }
      const first = (upTo === 'structure' ? structure : rules).validate(one as Record<string, unknown>, options)
      const isBroken = first.some(isStructural)
      if (upTo === 'structure' || isBroken) return { issues: first, isBroken }
      const { extensions } = rules
      const second = profileChecks.check(one, {
        profileUrls: profiles,
        profiles: upTo === 'profiles',
        extensions,
        limit,
      })
      return { issues: second.length === 0 ? first : [...first, ...second], isBroken }
    }
    const whole = (): Findings | Promise<Findings> => source.runLoaded(() => validate(resource, text))
    if (text === undefined || text.length < SAMPLED_CHARS) return whole()
    // Whatever is not loaded yet is met in a sample, which is validated again and again sooner than all of it.
    return chain(
      source.runLoaded(() => validate(sampleOf(resource) as Resource, undefined)),
      whole,
    )
  }

  const others = (resource: Resource): Issues | Promise<Issues> => {
    let all: Issues | Promise<Issues> = []
    for (const one of added) {
      if (one.type !== undefined && one.type !== resource.resourceType) continue
      all = chain(all, (before) => chain(one.check(resource), (found) => [...before, ...found]))
    }
    return all
  }

  return {
    validateWrite(resource, options = {}) {
      const { found } = options
      const first = found && { issues: found, isBroken: false }
      return chain(first ?? defined(resource, options, level, MAX_ISSUES_OF_A_WRITE), ({ issues, isBroken }) => {
        if (issues.some(isError)) throw (isBroken ? StructureRefused : RulesRefused)().with({ issues })
        if (added.length === 0) return issues
        return chain(others(resource), (more) => {
          const all = more.length === 0 ? issues : [...issues, ...more]
          if (more.some(isError)) throw RulesRefused().with({ issues: all })
          return all
        })
      })
    },
    check(resource, options = {}) {
      const { found } = options
      if (found !== undefined)
        return found.some(isStructural) ? found : chain(others(resource), (more) => errorsFirst([...found, ...more]))
      return chain(defined(resource, options, 'profiles', MAX_ISSUES_IN_FULL), ({ issues, isBroken }) =>
        isBroken
          ? issues
          : chain(others(resource), (more) => errorsFirst([...issues, ...narrativeHint(resource), ...more])),
      )
    },
    addCheck: (check) => void added.push(check),
    remote: { level },
  }
}
