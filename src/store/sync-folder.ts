import { open } from 'node:fs/promises'

/** When the promise is fulfilled, the names in the folder survive the death of the machine. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
