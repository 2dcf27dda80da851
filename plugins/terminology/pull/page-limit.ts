/** Finds out that the pages of a source have no end. */
const MAX_PAGES = 10_000
/** Pages after each other without a definition that an earlier page did not have. */
const MAX_IDLE_PAGES = 100

/** Called with each page of a run: its number from 1, and its definitions. A phrase where the pages have no end. */
export type PageLimit = (pages: number, definitions: readonly { readonly name: string }[]) => string | undefined

export const createPageLimit = (): PageLimit => {
  const known = new Set<string>()
  let idle = 0
  return (pages, definitions) => {
    const before = known.size
    for (const { name } of definitions) known.add(name)
    idle = known.size > before ? 0 : idle + 1
    if (pages > MAX_PAGES) return `it has more than ${MAX_PAGES} pages`
    if (idle < MAX_IDLE_PAGES) return undefined
    return `its last ${MAX_IDLE_PAGES} pages have no other definitions than those before`
  }
}
