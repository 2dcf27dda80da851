/** Remembers what was met once: of what is asked for, most is not asked for again and not worth keeping. */

/** True for a whole number, not below 0, that was met before and not pushed out since by another of its place. */
export const createAdmissionFilter = (places: number): ((key: number) => boolean) => {
  const door = new Float64Array(places)
  return (key) => {
    const place = key % places
    if (door[place] === key) return true
    door[place] = key
    return false
  }
}
