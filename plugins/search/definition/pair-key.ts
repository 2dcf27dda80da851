/** What stands in the key for the code, where a reference and a code are kept together: 32 bits of its hash. */
export const patientCodeKey = (code: number): number => code | 0
