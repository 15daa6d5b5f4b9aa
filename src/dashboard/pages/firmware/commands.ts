import { apiCommand, fleetCommand } from '#dashboard/commands'

/** Commands for a terminal, for empty pages. */

/** Uploads an image in one part. */
export function uploadCommand(project: string, version: string): string {
  return apiCommand(`-T ${project}-${version}.bin`, `/updates/projects/${project}/releases/${version}`)
}

/** Pins a device to a version. */
export function pinCommand(project: string, version: string): string {
  return apiCommand('-X PUT', `/updates/projects/${project}/pins/PUMP-7`, { firmware: version })
}

/** Starts a rollout to a tenth of the devices, which stops after too many failures. */
export function rolloutCommand(project: string, version: string): string {
  const body = { firmware: version, percent: 10, errorThresholdPercent: 20 }
  return apiCommand('-X PUT', `/updates/projects/${project}/rollout`, body)
}

/** Simulated devices that report firmware and accept updates: with success, slowly, or not at all. */
export function updatedFleetCommand(): string {
  return fleetCommand({ options: '--updates mixed' })
}
