/**
 * CPU time of this process and its threads in milliseconds: for limits that must hold on a busy machine too, where the
 * server runs in the process of the test.
 */
export const cpuTime = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
