/**
 * Checks a resource against profiles: those that the caller names, and those in meta.profile of the resource and of the
 * resources inside it. Also checks extensions against their definitions. The structure and the rules of the type must have been
 * checked before. https://hl7.org/fhir/R4/profiling.html
 */
import type { Issue } from '../../../kernel/index.ts'
import { BudgetExceeded, MAX_COST, Pending, typeUrl } from '../../model/service.ts'
import { createProfileChecker, type ProfileCheck, type ProfileSources } from './check-profile.ts'
import { containedResources, mayHoldResources } from './contained-resources.ts'
import { type ElementLocation, type LocationPath, pathText } from './element-location.ts'
import { createExtensionChecks } from './extensions.ts'

export interface Profiles {
  /** The issues. If a definition was not loaded yet, they are incomplete: `runLoaded` discards them and calls again after loading. */
  check(resource: Readonly<Record<string, unknown>>, what: ProfileQuestion): readonly Issue[]
}

export interface ProfileQuestion {
  /** Canonical URLs of profiles to check besides those in meta.profile. */
  readonly profileUrls: readonly string[]
  /** False to check only the extensions. */
  readonly profiles: boolean
  /** The URLs of all extensions in the resource. */
  readonly extensions: ReadonlySet<string>
  /** Maximum number of errors, and also of warnings, that are returned. */
  readonly limit: number
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const NONE: readonly Issue[] = Object.freeze([])

const claimsNothing = ({ meta }: Readonly<Record<string, unknown>>): boolean =>
  meta === undefined || (isObject(meta) && meta.profile === undefined)

export const createProfiles = (sources: ProfileSources): Profiles => {
  const work = { left: MAX_COST }
  const visitor = createProfileChecker(sources, work)
  const { tree, visit, shapeOf } = visitor
  const extensionChecks = createExtensionChecks(sources.find, visitor)

  return {
    check(resource, { profileUrls, profiles, extensions, limit }) {
      const hasProfiles =
        profiles && !(profileUrls.length === 0 && claimsNothing(resource) && !mayHoldResources(resource))
      // Undefined: definitions must be loaded first, and then the check runs again.
      const hasExtensions = extensions.size === 0 ? false : extensionChecks.anyKnown(extensions)
      if (hasExtensions === undefined || !(hasProfiles || hasExtensions)) return NONE
      const issues: Issue[] = []
      work.left = MAX_COST
      const reported = new Set<string>()
      let errors = 0

      const emit: ProfileCheck['emit'] = (severity, code, path, text, profile) => {
        const isError = severity === 'error'
        // Errors and warnings are counted separately, so that warnings cannot displace the error that refuses a write.
        if ((isError ? errors : issues.length - errors) >= limit) return
        const expression = pathText(path)
        const key = `${severity} ${expression} ${text}`
        if (reported.has(key)) return
        reported.add(key)
        if (isError) errors++
        const diagnostics = `${expression}: ${text}. (Profile ${profile})`
        issues.push({ severity, code, diagnostics, expression: [expression] })
      }

      const one = (
        value: unknown,
        claimed: string,
        at: LocationPath,
        root: Readonly<Record<string, unknown>>,
      ): void => {
        const canonical = claimed.length > 200 ? `${claimed.slice(0, 197)}...`.toWellFormed() : claimed
        const target = tree(claimed)
        if (target === undefined) {
          emit(
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
          emit('error', 'structure', at, `the profile ${canonical} is one of ${target.type}, not of ${type}`, canonical)
          return
        }
        for (const gap of target.gaps)
          emit('warning', 'incomplete', at, `of the profile ${canonical}, ${gap}`, canonical)
        const own = shapeOf(typeUrl(type))
        if (own === undefined) return
        const location: ElementLocation = {
          value,
          sibling: undefined,
          type: { kind: 'resource', suffix: '' },
          shape: own,
          path: at,
        }
        visit(target, location, { profile: canonical, resource: value, root, depth: 0, emit })
      }

      const all = (
        value: unknown,
        at: LocationPath,
        root: Readonly<Record<string, unknown>>,
        more: readonly string[],
      ): void => {
        if (!isObject(value)) return
        const claimed = isObject(value.meta) && Array.isArray(value.meta.profile) ? value.meta.profile : []
        for (const canonical of new Set([...more, ...claimed.filter((profile) => typeof profile === 'string')])) {
          one(value, canonical, at, root)
        }
        for (const [nested, path, isContained] of containedResources(value, at)) {
          if (isObject(nested)) all(nested, path, isContained ? root : nested, [])
        }
      }

      try {
        const at: LocationPath = { up: undefined, name: String(resource.resourceType), index: -1 }
        if (hasProfiles) all(resource, at, resource, profileUrls)
        if (hasExtensions) extensionChecks.check(resource, at, emit)
      } catch (error) {
        const isTooCostly = error instanceof BudgetExceeded
        if (isTooCostly || error instanceof RangeError) {
          const expression = [String(resource.resourceType)]
          const why = isTooCostly
            ? 'its repetitions make its profiles too costly to check; send less in one resource'
            : 'it is nested too deeply'
          const diagnostics = `${expression[0]}: ${why}.`
          issues.push({ severity: 'error', code: 'too-costly', diagnostics, expression })
        } else if (!(error instanceof Pending)) throw error
      }
      return issues
    },
  }
}
