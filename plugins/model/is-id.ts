/** What can be the id of a resource. */

// One or two dots alone are a step in a path: no client could address a resource of that name.
const ID = /^(?!\.\.?$)[A-Za-z0-9\-.]{1,64}$/

/** https://hl7.org/fhir/R4/datatypes.html#id */
export const isResourceId = (id: string): boolean => ID.test(id)
