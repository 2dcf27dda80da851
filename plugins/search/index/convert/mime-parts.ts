/** The MIME types under which `:below` finds a MIME type. */

/** `image/png; q=1` gives `image` and `image/png`, in lower case. RFC 2045, section 5.1. */
export const mimeParts = (text: string): readonly string[] => {
  const whole = (text.split(';')[0] as string).trim().toLowerCase()
  const slash = whole.indexOf('/')
  return slash <= 0 ? [whole] : [whole.slice(0, slash), whole]
}
