/** Makes the rules that the generated checks call besides the structure: invariants and required bindings. */
import {
  type Constraint,
  createInvariants,
  type FieldType,
  type Interpreter,
  type InvariantSubject,
  isCheckedNatively,
  type StaticType,
  type TypeFields,
} from '../../model/service.ts'
import type { RuleLocation } from '../structure/generate.ts'
import type { Rule, RuleMaker, RuleTools } from '../structure/rule.ts'
import type { StructureFaults } from '../structure/structure-issues.ts'
import { bindingTest, codedText } from './bindings.ts'
import type { BoundCodes } from './system-codes.ts'

export interface RuleSources {
  /** Null while fhirpath.js is not loaded. */
  engine(): Interpreter | null
  /** The codes of a value set. Undefined: cannot be enumerated. Null: a definition is not loaded yet. */
  codes(canonical: string): BoundCodes | null | undefined
  /** Compiles invariants. A test replaces it, to compare each result with that of fhirpath.js. */
  readonly compileWith?: typeof createInvariants
}

const typeOf = (type: FieldType | undefined): string =>
  type === undefined
    ? ''
    : type.kind === 'primitive'
      ? type.name
      : type.kind === 'complex'
        ? type.url.slice(type.url.lastIndexOf('/') + 1)
        : ''

const at = (path: string, index: number): string => (index < 0 ? path : `${path}[${index}]`)

export const createRules =
  ({ engine, codes, compileWith = createInvariants }: RuleSources) =>
  (tools: RuleTools): RuleMaker => {
    const { faults, context } = tools
    const invariants = compileWith({ typeFieldsOf: tools.shape, interpreter: engine, work: context.work })

    const kindsOf = (shape: TypeFields, { block, field, type }: RuleLocation): StaticType[] => {
      if (field === undefined || type === undefined) return [{ kind: 'block', name: block.path, shape, block }]
      switch (type.kind) {
        case 'primitive':
          return [{ kind: 'primitive', name: type.name }]
        case 'complex':
          return [{ kind: 'complex', name: type.url }]
        case 'block': {
          const inner = shape.blocks.get(type.path)!
          return [{ kind: 'block', name: type.path, shape, block: inner }]
        }
        case 'resource':
          return [{ kind: 'resource', name: 'Resource' }]
      }
    }

    /** The path that fhirpath.js needs: where the element is defined, or the name of its data type. */
    const pathOf = ({ block, field, type }: RuleLocation): string => {
      if (field === undefined) return block.path
      if (type?.kind === 'complex' || type?.kind === 'primitive') return typeOf(type)
      return `${block.path}.${field.name}`
    }

    const invariant = (
      shape: TypeFields,
      site: RuleLocation,
      { key, severity, human, expression }: Constraint,
    ): Rule | null => {
      const subject: InvariantSubject = {
        kinds: kindsOf(shape, site),
        type: shape.type,
        isResource: shape.kind === 'resource',
        path: pathOf(site),
      }
      const holds = invariants(expression!, subject)
      if (holds === null) return null
      return (found, path, value, index) =>
        holds(value, context.resource, context.root) === false
          ? faults.add(found, 'invariant', at(path, index), `${key}: ${human.replace(/[.\s]+$/, '')}`, severity)
          : found
    }

    const binding = (canonical: string, type: string): Rule => {
      const test = bindingTest(type)!
      let known: BoundCodes | null | undefined = null
      return (found, path, value, index) => {
        if (known === null) known = codes(canonical)
        if (known === null || known === undefined || test(known, value)) return found
        return faults.add(
          found,
          'code-invalid',
          at(path, index),
          `${codedText(value)} is not in the value set ${canonical}, which is required here`,
        )
      }
    }

    const constraintsOf = (site: RuleLocation): readonly Constraint[] => {
      // The block of an element with children defined in place has the same constraints, so they are checked there.
      if (site.field !== undefined && site.type?.kind === 'block') return []
      return site.rules.constraints.filter((constraint) => !isCheckedNatively(constraint))
    }

    const bindingOf = ({ rules, field, type }: RuleLocation): string | undefined =>
      field !== undefined && rules.required !== undefined && bindingTest(typeOf(type)) !== undefined
        ? rules.required
        : undefined

    return {
      hasRules: (_shape, site) => constraintsOf(site).length > 0 || bindingOf(site) !== undefined,
      make(shape, site) {
        const all: Rule[] = []
        for (const constraint of constraintsOf(site)) {
          const rule = invariant(shape, site, constraint)
          if (rule === null) return null
          all.push(rule)
        }
        const required = bindingOf(site)
        if (required !== undefined) all.push(binding(required, typeOf(site.type)))
        const [only] = all
        if (all.length === 1) return only!
        return (found, path, value, index) => {
          let list: StructureFaults = found
          for (const rule of all) list = rule(list, path, value, index)
          return list
        }
      },
    }
  }
