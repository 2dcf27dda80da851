/** Compiles the members of elements, and the selection of elements by type. */
import { type ElementBlock, jsonNames, type TypeFields } from '../../snapshot/fields.ts'
import { NotSupported } from '../parse.ts'
import { charge } from './budget.ts'
import type { CompiledExpression, EvaluationContext, FieldOf, StaticType } from './code.ts'
import { finder, reader } from './navigate.ts'
import { bareType, isNamed, isType, staticTypeOf } from './static-type.ts'
import { Pending, type TypeFieldsOf } from './type-fields-of.ts'
import { asBoolean, type Collection, EMPTY, single } from './values.ts'

const BOOLEAN: readonly StaticType[] = [{ kind: 'primitive', name: 'boolean' }]

const charged = ({ work }: EvaluationContext, items: Collection): Collection => {
  charge(work, items.length)
  return items
}

const IN_SIBLING = new Set(['id', 'extension', 'value'])

/**
 * Elements that can be read from JSON of an unknown type, because no choice element has these names. Invariants read them
 * from the result of descendants().
 */
const PLAIN_NAMES = new Set(['linkId', 'concept', 'code'])

export interface Members {
  member(on: CompiledExpression, name: string): CompiledExpression
  /** Compiles `x as T` and `x.ofType(T)`. */
  ofType(on: CompiledExpression, name: string): CompiledExpression
  isOf(on: CompiledExpression, name: string): CompiledExpression
  /** Compiles `x.extension(url)`. */
  extension(on: CompiledExpression, url: CompiledExpression): CompiledExpression
}

/** The functions throw NotSupported or Pending. */
export const createMembers = (shapes: TypeFieldsOf): Members => {
  const blockOf = (kind: StaticType): { shape: TypeFields; block: ElementBlock } | undefined => {
    if (kind.kind === 'block') return kind
    if (kind.kind === 'primitive') return undefined
    const url = kind.kind === 'resource' ? 'http://hl7.org/fhir/StructureDefinition/Resource' : kind.name
    const shape = shapes(url)
    if (shape === null) throw new Pending()
    const block = shape?.blocks.values().next().value
    if (shape === undefined || block === undefined) throw new NotSupported(`${url} is not installed`)
    return { shape, block }
  }

  const fieldsOf = (kinds: readonly StaticType[] | undefined, name: string): FieldOf[] => {
    if (kinds === undefined) throw new NotSupported(`the type of what .${name} is asked of is not known`)
    const found: FieldOf[] = []
    for (const kind of kinds) {
      const of = blockOf(kind)
      const field = of?.block.fields.find((one) => one.name === name)
      if (of !== undefined && field !== undefined) found.push({ shape: of.shape, field })
      // Not compiled: an element of a resource whose type is known only from its value, and the id or extension of a primitive.
      else if (kind.kind === 'resource' || (kind.kind === 'primitive' && IN_SIBLING.has(name)))
        throw new NotSupported(`.${name} of ${kind.name}`)
    }
    return found
  }

  const member = (on: CompiledExpression, name: string): CompiledExpression => {
    if (on.kinds === undefined && PLAIN_NAMES.has(name)) {
      const read = reader([name])
      return { run: (scope, focus) => read(on.run(scope, focus), scope.work), kinds: undefined }
    }
    const fields = fieldsOf(on.kinds, name)
    const names = [...new Set(fields.flatMap(({ field }) => jsonNames(field).map(([json]) => json)))]
    const read = reader(names)
    const find = finder(names)
    const { run } = on
    return {
      run: (scope, focus) => read(run(scope, focus), scope.work),
      exists(scope, focus) {
        const holders = run(scope, focus)
        return find(holders) ?? read(holders, scope.work).length > 0
      },
      kinds: fields.flatMap(({ shape, field }) => field.types.map((type) => staticTypeOf(shape, type))),
      field: { on, fields },
    }
  }

  /** Compiles `x as T` and `x.ofType(T)`: reads only the JSON members of that type. */
  const ofType = (on: CompiledExpression, name: string): CompiledExpression => {
    const wanted = bareType(name)
    if (on.field === undefined || on.kinds === undefined) {
      const [kind] = on.kinds ?? []
      if (on.kinds?.length === 1 && (kind?.kind === 'primitive' || kind?.kind === 'complex')) {
        return isNamed(kind.name, wanted, kind.kind) ? on : { run: () => EMPTY, kinds: [] }
      }
      if (on.kinds?.every(({ kind }) => kind === 'resource') !== true) throw new NotSupported(`ofType(${name})`)
      const { run } = on
      const isIt = (value: unknown) => (value as { resourceType?: unknown } | null)?.resourceType === wanted
      return {
        run: (scope, focus) => charged(scope, run(scope, focus)).filter(isIt),
        kinds: [{ kind: 'complex', name: `http://hl7.org/fhir/StructureDefinition/${wanted}` }],
      }
    }
    const { on: outer, fields } = on.field
    if (on.kinds.some(({ kind }) => kind === 'resource')) return ofType({ run: on.run, kinds: on.kinds }, name)
    const matching = fields.flatMap(({ shape, field }) =>
      jsonNames(field)
        .filter(([, type]) => isType(type, wanted))
        .map(([json, type]) => ({ json, kind: staticTypeOf(shape, type) })),
    )
    const read = reader([...new Set(matching.map(({ json }) => json))])
    const { run } = outer
    return { run: (scope, focus) => read(run(scope, focus), scope.work), kinds: matching.map(({ kind }) => kind) }
  }

  const isOf = (on: CompiledExpression, name: string): CompiledExpression => {
    const only = ofType(on, name)
    return {
      kinds: BOOLEAN,
      run(scope, focus) {
        const all = on.run(scope, focus)
        if (all.length === 0) return EMPTY
        if (all.length > 1) throw new NotSupported('is of many')
        return asBoolean(only.run(scope, focus).length > 0)
      },
    }
  }

  const extension = (on: CompiledExpression, url: CompiledExpression): CompiledExpression => {
    const all = member(on, 'extension')
    return {
      kinds: all.kinds,
      run(scope, focus) {
        const wanted = single(url.run(scope, focus))
        return charged(scope, all.run(scope, focus)).filter((one) => (one as { url?: unknown }).url === wanted)
      },
    }
  }

  return { member, ofType, isOf, extension }
}
