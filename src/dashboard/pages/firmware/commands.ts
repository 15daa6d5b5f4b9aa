import { apiCommand, fleetCommand } from '#dashboard/commands'

/** For a terminal, where there is nothing yet: the same as the page does. */

/** Uploads an image, in one part. */
export function uploadCommand(project: string, version: string): string {
  return apiCommand(`-T ${project}-${version}.bin`, `/updates/projects/${project}/releases/${version}`)
}

/** Holds a device at a version. */
export function pinCommand(project: string, version: string): string {
  return apiCommand('-X PUT', `/updates/projects/${project}/pins/PUMP-7`, { firmware: version })
}

/** Brings a version to a tenth of the devices, until too many fail. */
export function rolloutCommand(project: string, version: string): string {
  const body = { firmware: version, percent: 10, errorThresholdPercent: 20 }
  return apiCommand('-X PUT', `/updates/projects/${project}/rollout`, body)
}

/** Simulated devices that say what firmware they have, and take another one: well, slowly, or not at all. */
export function updatedFleetCommand(): string {
  return fleetCommand({ options: '--updates mixed' })
}
