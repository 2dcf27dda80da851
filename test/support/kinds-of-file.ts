/** The kinds of database that `npm test` runs a file of test/server on; the comments are explained in test/run.ts. */

const KINDS = ['postgres', 'sqlite'] as const

/** The value of `--kinds`, if there is one. */
export type ChosenKinds = 'each' | 'all' | undefined

/** The kinds that a comment of this name lists, `// name: sqlite and postgres, because …`. */
const listedKinds = (text: string, name: string): readonly string[] | undefined =>
  new RegExp(`^// ${name}: (\\w+)(?: and (\\w+))?`, 'm')
    .exec(text)
    ?.slice(1)
    .filter((kind) => kind !== undefined)

export const kindsOfFile = (text: string, chosen: ChosenKinds): readonly string[] => {
  const only = listedKinds(text, 'database')
  if (chosen === undefined) return listedKinds(text, 'npm test') ?? (only?.length === 1 ? only : ['sqlite'])
  const isForMemory = chosen === 'all' || /^\/\/ memory: /m.test(text)
  return only ?? (isForMemory ? [...KINDS, 'memory'] : KINDS)
}
