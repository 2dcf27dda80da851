/** The parameter `_pretty` of a URL, where no plugin has read the query: of errors, and of endpoints such as `/_usage`. */

const PRETTY = /[?&]_pretty=true(?:&|$)/

/** True when the URL has `_pretty=true`. */
export const asksPretty = (url: string): boolean => PRETTY.test(url)
