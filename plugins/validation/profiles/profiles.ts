/**
 * Checks a resource against profiles: those in meta.profile, of it and of the resources inside it, and those asked for.
 * The structure and the rules of the base definition are taken as checked. https://hl7.org/fhir/R4/profiling.html
 */
import type { Issue } from '../../../kernel/index.ts'
import { Pending } from '../fhirpath/compile.ts'
import { MOST_WORK, TooCostly } from '../fhirpath/work.ts'
import { typeUrl } from '../structure/definition.ts'
import { innerResources, mayHoldResources } from './inner.ts'
import { type Path, type Spot, textOf } from './spot.ts'
import { createVisitor, type ProfileSources, type Visit } from './visit.ts'

export interface Profiles {
  /** Worthless when a definition turned out not to be known yet; the caller's source says so. */
  check(resource: Readonly<Record<string, unknown>>, asked: readonly string[], limit: number): readonly Issue[]
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const NONE: readonly Issue[] = Object.freeze([])

const claimsNothing = ({ meta }: Readonly<Record<string, unknown>>): boolean =>
  meta === undefined || (isObject(meta) && meta.profile === undefined)

export const createProfiles = (sources: ProfileSources): Profiles => {
  const work = { left: MOST_WORK }
  const { tree, visit, shapeOf } = createVisitor(sources, work)

  return {
    check(resource, asked, limit) {
      if (asked.length === 0 && claimsNothing(resource) && !mayHoldResources(resource)) return NONE
      const issues: Issue[] = []
      work.left = MOST_WORK
      const told = new Set<string>()

      const one = (value: unknown, claimed: string, at: Path, root: Readonly<Record<string, unknown>>): void => {
        const tell: Visit['tell'] = (severity, code, path, text, profile) => {
          const expression = textOf(path)
          const key = `${severity} ${expression} ${text}`
          if (issues.length >= limit || told.has(key)) return
          told.add(key)
          const diagnostics = `${expression}: ${text}. (Profile ${profile})`
          issues.push({ severity, code, diagnostics, expression: [expression] })
        }
        const canonical = claimed.length > 200 ? `${claimed.slice(0, 197)}...`.toWellFormed() : claimed
        const target = tree(claimed)
        if (target === undefined) {
          tell(
            'warning',
            'not-found',
            at,
            `the profile ${canonical} is not installed; nothing was checked against it`,
            canonical,
          )
          return
        }
        const type = (value as { resourceType: string }).resourceType
        if (target.type !== type && target.type !== 'Resource' && target.type !== 'DomainResource') {
          tell('error', 'structure', at, `the profile ${canonical} is one of ${target.type}, not of ${type}`, canonical)
          return
        }
        for (const gap of target.gaps)
          tell('warning', 'incomplete', at, `of the profile ${canonical}, ${gap}`, canonical)
        const own = shapeOf(typeUrl(type))
        if (own === undefined) return
        const spot: Spot = { value, sibling: undefined, type: { kind: 'resource', suffix: '' }, shape: own, path: at }
        visit(target, spot, { profile: canonical, resource: value, root, depth: 0, tell })
      }

      const all = (
        value: unknown,
        at: Path,
        root: Readonly<Record<string, unknown>>,
        more: readonly string[],
      ): void => {
        if (!isObject(value)) return
        const claimed = isObject(value.meta) && Array.isArray(value.meta.profile) ? value.meta.profile : []
        for (const canonical of new Set([...more, ...claimed.filter((profile) => typeof profile === 'string')])) {
          one(value, canonical, at, root)
        }
        for (const [nested, path, isContained] of innerResources(value, at)) {
          if (isObject(nested)) all(nested, path, isContained ? root : nested, [])
        }
      }

      try {
        all(resource, { up: undefined, name: String(resource.resourceType), index: -1 }, resource, asked)
      } catch (error) {
        if (error instanceof TooCostly) {
          const expression = [String(resource.resourceType)]
          const diagnostics = `${expression[0]}: its repetitions make its profiles too costly to check; send less in one resource.`
          issues.push({ severity: 'error', code: 'too-costly', diagnostics, expression })
        } else if (!(error instanceof Pending)) throw error
      }
      return issues
    },
  }
}
