/** `an Organization`, `a Patient`: the indefinite article before the name of a type. */
export const withArticle = (name: string): string => `${/^[aeio]/i.test(name) ? 'an' : 'a'} ${name}`
