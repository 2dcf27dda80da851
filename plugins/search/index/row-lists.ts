/** Splits index rows into lists of limited length, without duplicates, and compares the rows of two versions. */
import { IndexEntries, TEXT_COLUMNS } from './index-entries.ts'
import { INDEX_KINDS, type IndexTableKind, TABLES } from './tables.ts'

const MAX_ROWS = 1_000 // rows of one list; writing them takes about two milliseconds

type Value = number | string | null

const keyAt = (kind: IndexTableKind, values: readonly Value[], at: number): string => {
  const { key } = TABLES[kind]
  let text = ''
  for (let n = 0; n < key.length; n += 1) text += `${values[at + n]}\u0001`
  return text
}

const keysOf = (kind: IndexTableKind, { [kind]: values }: IndexEntries): Set<string> => {
  const keys = new Set<string>()
  for (let at = 0; at < values.length; at += TABLES[kind].width) keys.add(keyAt(kind, values, at))
  return keys
}

/** Collects rows and begins a new list after MAX_ROWS of them. */
const createFiller = () => {
  const lists: IndexEntries[] = []
  let room = 0
  return {
    lists,
    add(name: IndexTableKind | 'text', values: readonly Value[], at: number, width: number): void {
      if (room === 0) {
        lists.push(new IndexEntries())
        room = MAX_ROWS
      }
      room -= 1
      const list = (lists.at(-1) as IndexEntries)[name] as Value[]
      for (let n = at; n < at + width; n += 1) list.push(values[n] as Value)
    },
  }
}

/** The rows that `others` holds as well. Rows are compared by their keys. */
export const toSharedLists = (rows: IndexEntries, others: IndexEntries): readonly IndexEntries[] => {
  const filler = createFiller()
  for (const kind of INDEX_KINDS) {
    const { width } = TABLES[kind]
    const left = keysOf(kind, others)
    const values = rows[kind]
    for (let at = 0; at < values.length; at += width)
      if (left.delete(keyAt(kind, values, at))) filler.add(kind, values, at, width)
  }
  return filler.lists
}

/** Joins the rows of all lists. */
export const joinRowLists = (lists: readonly IndexEntries[], present: readonly number[]): IndexEntries => {
  const all = new IndexEntries()
  for (const name of [...INDEX_KINDS, 'text'] as const) {
    const values = all[name] as Value[]
    for (const list of lists) for (const value of list[name]) values.push(value)
  }
  all.present.push(...present)
  return all
}

/** The rows that `others` does not hold, and the rows of displays. */
export const toRowLists = (rows: IndexEntries, others: IndexEntries | undefined): readonly IndexEntries[] => {
  const filler = createFiller()
  for (const kind of INDEX_KINDS) {
    const { width } = TABLES[kind]
    const seen = others === undefined ? new Set<string>() : keysOf(kind, others)
    const values = rows[kind]
    for (let at = 0; at < values.length; at += width) {
      const key = keyAt(kind, values, at)
      if (seen.has(key)) continue
      seen.add(key)
      filler.add(kind, values, at, width)
    }
  }
  const seen = new Set<number>()
  for (let at = 0; at < rows.text.length; at += TEXT_COLUMNS) {
    const mixed = (rows.text[at] as number) + (rows.text[at + 2] as number)
    if (seen.has(mixed)) continue
    seen.add(mixed)
    filler.add('text', rows.text, at, TEXT_COLUMNS)
  }
  return filler.lists
}
