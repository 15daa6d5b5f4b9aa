import type { RunInSlices } from '#rules/bindings'

/** Runs all steps at once. */
export const atOnce: RunInSlices = (step) => {
  while (step());
}
