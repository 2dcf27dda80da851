/** Checks one value against a profile: fixed and pattern values, bounds, bindings, and the invariants that the profile adds. */
import { counted } from '../../../kernel/index.ts'
import {
  type Constraint,
  compareDateTimes,
  type createInvariants,
  type Invariant,
  isCheckedNatively,
  staticTypeOf,
} from '../../model/service.ts'
import { bindingTest, codedText } from '../rules/bindings.ts'
import type { BoundCodes } from '../rules/system-codes.ts'
import { quoted } from '../structure/structure-issues.ts'
import { type ElementContent, type ElementLocation, typeNameOf } from './element-location.ts'
import { fitsPattern, isFixed } from './pattern.ts'
import type { ProfileNode } from './tree.ts'

export type Severity = 'error' | 'warning' | 'information'
export type Emit = (severity: Severity, code: 'value' | 'invariant' | 'code-invalid' | 'too-long', text: string) => void

export interface ValueRuleTools {
  readonly invariants: ReturnType<typeof createInvariants>
  codes(canonical: string): BoundCodes | null | undefined
  /** Called if an invariant cannot be compiled because a definition is not loaded yet. Must throw. */
  pending(): never
}

/** Matches the source of an invariant of one of R4's types, whose names start with a capital; R4's own profiles start in lower case. */
const TYPE_SOURCE = /^http:\/\/hl7\.org\/fhir\/StructureDefinition\/[A-Z][A-Za-z]*(?:\|.*)?$/

/** Negative, 0 or positive, as for `Array.sort`; undefined if the values cannot be compared. */
const compare = (value: unknown, bound: unknown): number | undefined => {
  if (typeof value === 'number' && typeof bound === 'number') return value - bound
  if (typeof value === 'string' && typeof bound === 'string') return compareDateTimes(value, bound) ?? undefined
  if (typeof value !== 'object' || typeof bound !== 'object' || value === null || bound === null) return undefined
  const [a, b] = [value as Record<string, unknown>, bound as Record<string, unknown>]
  return a.code === b.code && a.system === b.system ? compare(a.value, b.value) : undefined
}

export const createValueRules = ({ invariants, codes, pending }: ValueRuleTools) => {
  const compiled = new Map<ProfileNode, Map<string, readonly { constraint: Constraint; holds: Invariant }[]>>()

  /** The invariants that the profile adds; those of the type were checked with the structure. */
  const ownConstraints = ({ constraints }: ProfileNode, inherited: ReadonlySet<string>): readonly Constraint[] =>
    constraints.filter(
      (constraint) =>
        !isCheckedNatively(constraint) &&
        (constraint.source === undefined ? !inherited.has(constraint.key) : !TYPE_SOURCE.test(constraint.source)),
    )

  const constraintsFor = (
    node: ProfileNode,
    location: ElementLocation,
    inside: ElementContent | undefined,
    inherited: ReadonlySet<string>,
  ) => {
    const name = typeNameOf(location)
    const byType = compiled.get(node) ?? new Map()
    compiled.set(node, byType)
    let list = byType.get(name)
    if (list === undefined) {
      const { type, shape } = location
      const isDataType = type.kind === 'complex' || type.kind === 'primitive'
      list = ownConstraints(node, inherited).map((constraint) => {
        const kind =
          inside === undefined || type.kind === 'primitive'
            ? staticTypeOf(location.shape, location.type)
            : { kind: 'block' as const, name: inside.block.path, shape: inside.shape, block: inside.block }
        const holds = invariants(constraint.expression!, {
          kinds: [kind],
          type: type.kind === 'resource' ? name : shape.type,
          isResource: type.kind === 'resource' || shape.kind === 'resource',
          path: isDataType ? name : type.kind === 'block' ? type.path : name,
        })
        return { constraint, holds: holds ?? pending() }
      })
      byType.set(name, list)
    }
    return list as readonly { constraint: Constraint; holds: Invariant }[]
  }

  const binding = (
    { binding: bound }: ProfileNode,
    location: ElementLocation,
    required: string | undefined,
    report: Emit,
  ): void => {
    const test = bindingTest(typeNameOf(location))
    if (bound === undefined || test === undefined || location.value === undefined) return
    const check = (valueSet: string | undefined, severity: Severity, says: string): void => {
      if (valueSet === undefined || valueSet === required) return
      const known = codes(valueSet)
      if (known === null || known === undefined || test(known, location.value)) return
      report(severity, 'code-invalid', `${codedText(location.value)} is not in the value set ${valueSet}, ${says}`)
    }
    if (bound.strength === 'required') check(bound.valueSet, 'error', 'which is required here')
    if (bound.strength === 'extensible')
      check(bound.valueSet, 'warning', 'which is to be used where it has a fitting code')
    check(bound.max, 'error', 'the largest that is allowed here')
  }

  /** `base`: invariants and required binding of the element in the base definition, which were checked before and are skipped. */
  return (
    node: ProfileNode,
    location: ElementLocation,
    inside: ElementContent | undefined,
    base: { readonly keys: ReadonlySet<string>; readonly required: string | undefined },
    scope: { readonly resource: unknown; readonly root: unknown },
    report: Emit,
  ): void => {
    const { value } = location
    if (value !== undefined) {
      if (node.fixed !== undefined && !isFixed(value, node.fixed)) {
        report('error', 'value', `${quoted(value)} is not the value it must have, ${quoted(node.fixed)}`)
      }
      if (node.pattern !== undefined && !fitsPattern(value, node.pattern)) {
        report('error', 'value', `${quoted(value)} does not have what it must have, ${quoted(node.pattern)}`)
      }
      if (node.maxLength !== undefined && typeof value === 'string' && value.length > node.maxLength) {
        report(
          'error',
          'too-long',
          `it has ${counted(value.length, 'character')}, and at most ${node.maxLength} ${node.maxLength === 1 ? 'is' : 'are'} allowed`,
        )
      }
      if (node.minValue !== undefined && (compare(value, node.minValue) ?? 0) < 0) {
        report('error', 'value', `${quoted(value)} is less than ${quoted(node.minValue)}`)
      }
      if (node.maxValue !== undefined && (compare(value, node.maxValue) ?? 0) > 0) {
        report('error', 'value', `${quoted(value)} is more than ${quoted(node.maxValue)}`)
      }
    }
    binding(node, location, base.required, report)
    for (const { constraint, holds } of constraintsFor(node, location, inside, base.keys)) {
      if (holds(value, scope.resource, scope.root) === false) {
        report(constraint.severity, 'invariant', `${constraint.key}: ${constraint.human.replace(/[.\s]+$/, '')}`)
      }
    }
  }
}
