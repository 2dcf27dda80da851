/** Finds the known word that a misspelt one probably means: `update_as_creat` → `update_as_create`. */

/** The number of edits (insert, delete, replace, swap of neighbours) from one word to the other. */
const distance = (from: string, to: string): number => {
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const now = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      let best = Math.min(last[column]! + 1, now[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (swapped) best = Math.min(best, before[column - 2]! + 1)
      now.push(best)
    }
    before = last
    last = now
  }
  return last[to.length]!
}

const MAX_EDITS = 3 // with more edits it is taken for another word
const LONGEST = 100 // characters; no name of ours is longer, and the cost is quadratic

/** The nearest of the known words, or undefined when none is near: at most a third of the word may differ. */
export const closestKey = (word: string, known: Iterable<string>): string | undefined => {
  if (word.length > LONGEST) return undefined
  const plain = word.toLowerCase().replaceAll('-', '_')
  let best: string | undefined
  let fewest = Math.min(MAX_EDITS, Math.max(1, Math.floor(word.length / 3))) + 1
  for (const one of known) {
    const edits = distance(plain, one.toLowerCase().replaceAll('-', '_'))
    if (edits < fewest) {
      fewest = edits
      best = one
    }
  }
  return best
}
