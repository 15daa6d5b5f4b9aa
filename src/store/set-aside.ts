import { rename } from 'node:fs/promises'
import { isMissing } from '#store/file-system'

/** Renames a folder, so that another one can begin in its place. Someone may still want to look at it. */
export async function setAside(folder: string, now: number): Promise<void> {
  const time = new Date(now).toISOString().replaceAll(/[:.]/g, '-')
  try {
    await rename(folder, `${folder}-set-aside-${time}`)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}
