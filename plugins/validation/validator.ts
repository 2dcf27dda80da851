/** The service Validator. It checks structure and rules in one pass, then profiles, then runs the checks that plugins added. */
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

/** Maximum number of issues that $validate lists: all of them in practice, but the size of the answer is bounded. */
const MAX_ISSUES_IN_FULL = 10_000
/** Maximum number of issues in the answer to a refused write. */
const MAX_ISSUES_OF_A_WRITE = 100

const LEVELS: readonly Level[] = ['structure', 'rules', 'profiles']

const NO_PROFILES: readonly string[] = []

const isError = ({ severity }: Issue): boolean => severity === 'error' || severity === 'fatal'
/** Whether an issue of the first pass is an error of the structure, and not a broken invariant or binding. */
const isStructural = (issue: Issue): boolean =>
  isError(issue) && issue.code !== 'invariant' && issue.code !== 'code-invalid'

/** Length of the JSON from which a sample is validated first: validating such a resource takes milliseconds. */
const SAMPLED_CHARS = 100_000

interface Findings {
  readonly issues: Issues
  /** True if the structure has errors, so that nothing else was checked. */
  readonly isBroken: boolean
}

/** Checks dom-6, which recommends a narrative. Only $validate reports it: as a warning on every write it would be noise. */
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

  /** Checks a resource against definitions, up to the level `upTo`. Rules of profiles are skipped if the structure has errors. */
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
    // Missing definitions make the validation run again. A sample needs most of the definitions and takes less time to repeat.
    return chain(
      source.runLoaded(() => validate(sampleOf(resource) as Resource, undefined)),
      whole,
    )
  }

  const others = (resource: Resource, { request }: ValidationOptions, upTo: Level): Issues | Promise<Issues> => {
    let all: Issues | Promise<Issues> = []
    for (const one of added) {
      if (one.type !== undefined && one.type !== resource.resourceType) continue
      if (LEVELS.indexOf(one.level ?? 'structure') > LEVELS.indexOf(upTo)) continue
      all = chain(all, (before) => chain(one.check(resource, request), (found) => [...before, ...found]))
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
        return chain(others(resource, options, level), (more) => {
          const all = more.length === 0 ? issues : [...issues, ...more]
          if (more.some(isError)) throw RulesRefused().with({ issues: all })
          return all
        })
      })
    },
    check(resource, options = {}) {
      const { found } = options
      if (found !== undefined)
        return found.some(isStructural)
          ? found
          : chain(others(resource, options, 'profiles'), (more) => errorsFirst([...found, ...more]))
      return chain(defined(resource, options, 'profiles', MAX_ISSUES_IN_FULL), ({ issues, isBroken }) =>
        isBroken
          ? issues
          : chain(others(resource, options, 'profiles'), (more) =>
              errorsFirst([...issues, ...narrativeHint(resource), ...more]),
            ),
      )
    },
    addCheck: (check) => void added.push(check),
    remote: { level },
  }
}
