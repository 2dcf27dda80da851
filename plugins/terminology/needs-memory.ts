/** Thrown where the index cannot combine two versions of a code system: then the expansion is made in memory. */
export class NeedsMemory extends Error {}
