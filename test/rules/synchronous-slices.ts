import type { InSlices } from '#rules/bindings'

/** Runs all steps at once. */
export const atOnce: InSlices = (step) => {
  while (step());
}
