/** The one case in which a provider may be asked without TLS: it runs on this machine, for tests and development. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

export const isLoopbackHttp = ({ protocol, hostname }: URL): boolean => protocol === 'http:' && LOOPBACK.test(hostname)
