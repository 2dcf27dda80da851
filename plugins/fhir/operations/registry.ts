/** The operations that all plugins add in their setup. Routes, Bundles and /metadata use this list. */
import { OperationUnusable } from './errors.ts'
import type { Invocation, Operation } from './operation.ts'
import type { OperationLevel } from './operation-parameter.ts'

const CODE = /^[a-z][A-Za-z0-9-]{0,63}$/

export interface OperationAt {
  readonly level: OperationLevel
  /** The type in the address; undefined at the base. */
  readonly type: string | undefined
}

export interface Operations<I extends Invocation = Invocation> {
  /** In setup only. Throws when another operation has the same code at the same address. */
  add(operation: Operation<I>): void
  find(code: string, at: OperationAt): Operation<I> | undefined
  /** The operations at an address. */
  at(at: OperationAt): readonly Operation<I>[]
  readonly all: readonly Operation<I>[]
}

const isAt = ({ levels, types }: Operation<never>, { level, type }: OperationAt): boolean =>
  levels.includes(level) && (level === 'system' || types === undefined || types.includes(type as string))

const meet = (one: Operation<never>, other: Operation<never>): boolean =>
  one.levels.some(
    (level) =>
      other.levels.includes(level) &&
      (level === 'system' ||
        one.types === undefined ||
        other.types === undefined ||
        one.types.some((type) => other.types?.includes(type))),
  )

export const createOperations = <I extends Invocation>(): Operations<I> => {
  const all: Operation<I>[] = []
  return {
    all,
    add(operation) {
      const { code, levels, parameters } = operation
      if (!CODE.test(code)) throw OperationUnusable(code, 'its code has letters, digits and dashes, without the $')
      if (levels.length === 0) throw OperationUnusable(code, 'it names no level')
      if (all.some((one) => one.code === code && meet(one, operation)))
        throw OperationUnusable(code, 'there is one of that code at the same address')
      const names = parameters.map(({ name }) => name)
      if (new Set(names).size < names.length) throw OperationUnusable(code, 'two of its parameters have the same name')
      all.push(operation)
    },
    find: (code, at) => all.find((one) => one.code === code && isAt(one, at)),
    at: (at) => all.filter((one) => isAt(one, at)),
  }
}
