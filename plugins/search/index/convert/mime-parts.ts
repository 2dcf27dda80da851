/** What a MIME type lies below, itself included. */

/** `image/png; q=1` lies below `image/png` and below `image`. MIME types have no case. RFC 2045, section 5.1. */
export const mimeParts = (text: string): readonly string[] => {
  const whole = (text.split(';')[0] as string).trim().toLowerCase()
  const slash = whole.indexOf('/')
  return slash <= 0 ? [whole] : [whole.slice(0, slash), whole]
}
