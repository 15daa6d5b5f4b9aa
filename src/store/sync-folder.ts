import { open } from 'node:fs/promises'

/** The names in a folder survive the death of the machine when this is fulfilled. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
