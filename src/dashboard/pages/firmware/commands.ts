import { apiCommand, fleetCommand } from '#dashboard/commands'

/** Commands for a terminal, for empty pages. */

export function uploadCommand(project: string, version: string): string {
  return apiCommand(`-T ${project}-${version}.bin`, `/updates/projects/${project}/releases/${version}`)
}

/** Simulated devices that report firmware and accept updates: with success, slowly, or not at all. */
export function updatedFleetCommand(): string {
  return fleetCommand({ options: '--updates mixed' })
}
