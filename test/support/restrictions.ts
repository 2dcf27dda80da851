/** Restrictions that tests often use. */
import { ALL, type Restriction } from '../../kernel/index.ts'

/** All rights on the resources in one compartment. */
export const inCompartment = (type: string, id: string): Restriction => ({
  types: {},
  others: [{ rights: 'cruds', compartment: { type, id } }],
})

/** All rights on some types, none on any other. */
export const onlyTypes = (...types: readonly string[]): Restriction => ({
  types: Object.fromEntries(types.map((type) => [type, [ALL]])),
  others: [],
})

/** All rights on the resources of one type that match the query, and on all other types. */
export const matching = (type: string, query: string): Restriction => ({
  types: { [type]: [{ rights: 'cruds', query }] },
  others: [ALL],
})
