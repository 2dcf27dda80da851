/**
 * Where an id is found: a number of two parts, the drawer that the row lies in and a hash of the id. An index over ids
 * alone would be written all over with every event; over these it is written in one place, and a search looks into one
 * drawer after the other. What it finds is compared with the id itself.
 */
const DRAWER_ROWS = 8_192
const HASHES = 2 ** 24

export const drawerOf = (seq: number): number => Math.floor(seq / DRAWER_ROWS)

const hash = (id: Uint8Array): number => {
  let value = 0x811c9dc5
  for (let at = 0; at < id.length; at += 1) value = Math.imul(value ^ (id[at] as number), 0x01000193)
  return (value ^ (value >>> 15)) & (HASHES - 1)
}

export const placeIn = (drawer: number, id: Uint8Array): number => drawer * HASHES + hash(id)

/** Of an id in the row `seq`; null when there is none. */
export const placeOf = (seq: number, id: Uint8Array | null): number | null =>
  id === null ? null : placeIn(drawerOf(seq), id)
