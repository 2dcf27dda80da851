/** Checks the type of an element against a profile: the allowed types, their profiles, and the targets of a Reference. */
import { withArticle } from '../../../kernel/index.ts'
import { typeUrl } from '../../model/service.ts'
import { type ElementLocation, type FieldsOf, typeNameOf } from './element-location.ts'
import type { ProfileTrees } from './profile-trees.ts'
import { REFERENCE_TYPE } from './reference-type.ts'
import type { Report } from './report.ts'
import type { ProfileNode, ProfileTree } from './tree.ts'

/** Profiles on data types in R4's own definitions. They are skipped here, because the structure check applies them. */
const STRUCTURAL = /\/StructureDefinition\/(?:SimpleQuantity|MoneyQuantity)$/

const tail = (code: string): string => code.slice(code.lastIndexOf('/') + 1)

export interface TypeCheckParts {
  readonly report: Report
  readonly shapeOf: FieldsOf
  readonly trees: ProfileTrees
  /** Whether the element conforms to the profile. */
  conforms(location: ElementLocation, canonical: string): boolean
  /** Checks the element against the tree of another profile, and reports its issues too. */
  descend(target: ProfileTree, canonical: string, location: ElementLocation): void
}

/** Returns the check. It throws Pending if a definition is not loaded yet. */
export const createTypeCheck = ({
  report,
  shapeOf,
  trees: { tree, typeOfProfile },
  conforms,
  descend,
}: TypeCheckParts): ((node: ProfileNode, location: ElementLocation) => void) => {
  const references = (node: ProfileNode, { value, path }: ElementLocation): void => {
    const targets = node.types
      ?.filter(({ code }) => code === 'Reference')
      .flatMap(({ targetProfile }) => targetProfile ?? [])
    const { reference, type } = (value ?? {}) as { reference?: unknown; type?: unknown }
    if (targets === undefined || targets.length === 0) return
    const named = typeof reference === 'string' ? REFERENCE_TYPE.exec(reference)?.[1] : undefined
    const name = named ?? (typeof type === 'string' ? tail(type) : undefined)
    // The target is checked only if the reference names a resource type; `urn:…` and URLs of other systems do not.
    if (name === undefined || shapeOf(typeUrl(name))?.kind !== 'resource') return
    const allowed = targets.map((target) => typeOfProfile(target))
    if (allowed.includes(undefined) || allowed.includes('Resource') || allowed.includes(name)) return
    report(
      'error',
      'structure',
      path,
      `it refers to ${withArticle(name)}; allowed are ${[...new Set(allowed)].join(', ')}`,
    )
  }

  return (node, location) => {
    const { types: wanted } = node
    const { type, path } = location
    if (wanted === undefined || type.kind === 'block') return
    const name = typeNameOf(location)
    const isAny = (code: string) => type.kind === 'resource' && (code === 'Resource' || code === 'DomainResource')
    const isSystem = wanted.some(({ code }) => code.startsWith('http://hl7.org/fhirpath/'))
    const matching = wanted.filter(({ code }) => tail(code) === name || isAny(tail(code)))
    if (matching.length === 0) {
      // Accepted: a snapshot gives ids and Extension.url the type System.String, for which fields.ts uses names of our own.
      if (type.kind === 'primitive' && (isSystem || name.includes('-') || name === 'reference')) return
      const allowed = wanted.map(({ code }) => tail(code)).join(', ')
      report('error', 'structure', path, `its type ${name} is not allowed; allowed are ${allowed}`)
      return
    }
    if (name === 'Reference') references(node, location)
    if (matching.some(({ profile }) => profile === undefined)) return
    const profiles = matching.flatMap(({ profile }) => profile ?? []).filter((one) => !STRUCTURAL.test(one))
    const [only] = profiles
    if (only === undefined) return
    if (profiles.length > 1) {
      if (!profiles.some((one) => conforms(location, one))) {
        report('error', 'structure', path, `it conforms to none of ${profiles.join(', ')}`)
      }
      return
    }
    const target = tree(only)
    if (target === undefined)
      report('warning', 'not-found', path, `the profile ${only} is not installed, so this is not checked against it`)
    else descend(target, only, location)
  }
}
