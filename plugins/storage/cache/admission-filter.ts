/** Decides what enters a cache: only a key that is requested for the second time, since most are requested only once. */

/**
 * Returns true if the key was passed before and no other key has taken its place since. A key is an integer of at least 0. Of
 * the keys with the same remainder by `places` only the latest is remembered.
 */
export const createAdmissionFilter = (places: number): ((key: number) => boolean) => {
  const door = new Float64Array(places)
  return (key) => {
    const place = key % places
    if (door[place] === key) return true
    door[place] = key
    return false
  }
}
