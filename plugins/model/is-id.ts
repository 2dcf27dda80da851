/** Checks the format of a resource id. */

// `.` and `..` are refused although R4 allows them: clients resolve them as path segments and could not address the resource.
const ID = /^(?!\.\.?$)[A-Za-z0-9\-.]{1,64}$/

/** https://hl7.org/fhir/R4/datatypes.html#id */
export const isResourceId = (id: string): boolean => ID.test(id)
