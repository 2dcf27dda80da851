/** The Validator service: structure first, then what other plugins added. */
import type { Issue } from '../../kernel/index.ts'
import type { Definitions } from '../packages/service.ts'
import type { Level } from './config.ts'
import { RulesRefused, StructureRefused } from './errors.ts'
import type { AddedCheck, ValidationOptions, Validator } from './service.ts'
import { createSource, type Source } from './source.ts'
import type { StructureDefinition } from './structure/definition.ts'
import { createStructureValidator, type StructureValidator } from './structure/validator.ts'

type Resource = Readonly<Record<string, unknown>>
type Issues = readonly Issue[]

/** $validate lists every issue; this bounds the answer to a resource that is nothing but issues. */
const MOST_ISSUES_IN_FULL = 10_000
/** The answer to a refused write. */
const MOST_ISSUES_OF_A_WRITE = 100

const isError = ({ severity }: Issue): boolean => severity === 'error' || severity === 'fatal'

/** What is compiled from one set of packages. */
interface Compiled {
  readonly fingerprint: string
  readonly source: Source
  readonly structure: StructureValidator
}

const compiledFrom = (definitions: Definitions): Compiled => {
  const source = createSource(definitions)
  const structure = createStructureValidator({
    definition: (url) => source.find('StructureDefinition', url) as StructureDefinition | null | undefined,
  })
  return { fingerprint: definitions.fingerprint, source, structure }
}

const then = <T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> =>
  value instanceof Promise ? value.then(next) : next(value)

export const createValidator = ({ definitions }: { definitions: Definitions; level: Level }): Validator => {
  const added: AddedCheck[] = []
  let compiled: Compiled | undefined

  const current = (): Compiled => {
    if (compiled?.fingerprint !== definitions.fingerprint) compiled = compiledFrom(definitions)
    return compiled
  }

  const structural = (resource: Resource, { text }: ValidationOptions, limit: number): Issues | Promise<Issues> => {
    const { source, structure } = current()
    const options = text === undefined ? { limit } : { text, limit }
    return source.settle(() => structure.validate(resource as Record<string, unknown>, options))
  }

  const others = (resource: Resource): Issues | Promise<Issues> => {
    let all: Issues | Promise<Issues> = []
    for (const one of added) {
      if (one.type !== undefined && one.type !== resource.resourceType) continue
      all = then(all, (before) => then(one.check(resource), (found) => [...before, ...found]))
    }
    return all
  }

  return {
    admit(resource, options = {}) {
      return then(structural(resource, options, MOST_ISSUES_OF_A_WRITE), (issues) => {
        const errors = issues.filter(isError)
        if (errors.length > 0) {
          const refusal = errors.every(({ code }) => code === 'invariant') ? RulesRefused : StructureRefused
          throw refusal().with({ issues })
        }
        if (added.length === 0) return issues
        return then(others(resource), (more) => {
          const all = [...issues, ...more]
          if (more.some(isError)) throw RulesRefused().with({ issues: all })
          return all
        })
      })
    },
    check(resource, options = {}) {
      return then(structural(resource, options, MOST_ISSUES_IN_FULL), (issues) =>
        issues.some(isError) ? issues : then(others(resource), (more) => [...issues, ...more]),
      )
    },
    addCheck: (check) => void added.push(check),
  }
}
