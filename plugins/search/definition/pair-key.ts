/** The part of a combined key (patient reference and code) that stands for the code: 32 bits of its hash. */
export const patientCodeKey = (code: number): number => code | 0
